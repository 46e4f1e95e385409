"""Timestamps and lookups by them."""

import time

from confluent_kafka import OFFSET_END, TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, TopicPartition
from confluent_kafka.admin import OffsetSpec
from harness import case, equal
from kit import admin, consumer, create_topic, producer, read, send, send_all

UNSORTED = [10, 50, 20, 40, 30]


def base():
    return int(time.time() * 1000) - 3_600_000


def lookup(client, topic, timestamp):
    found = client.offsets_for_times([TopicPartition(topic, 0, timestamp)], timeout=15)[0]
    assert found.error is None, found.error
    return found.offset


def lookups(run, topic, start, expected):
    client = consumer(run)
    found = {after: lookup(client, topic, start + after) for after in expected}
    equal(found, expected, "offsets by timestamp")


def write(run, topic, start, stamps, **configs):
    """One batch each, or all in one if the producer lingers."""
    client = producer(run, **configs)
    records = [{"value": f"{stamp}", "timestamp": start + stamp} for stamp in stamps]
    if configs:
        send_all(client, topic, records)
    else:
        for record in records:
            send_all(client, topic, [record])


@case("timestamps.create_time")
def create_time(run):
    topic = create_topic(run, retention_ms=-1)  # The record is old enough to be deleted otherwise.
    send(producer(run), topic, b"x", timestamp=1_600_000_000_123)
    equal(read(run, topic, 1)[0].timestamp(), (TIMESTAMP_CREATE_TIME, 1_600_000_000_123))


@case("timestamps.unsorted")
def unsorted(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, UNSORTED)
    lookups(run, topic, start, {0: 0, 10: 0, 11: 1, 25: 1, 45: 1, 50: 1, 51: OFFSET_END})


@case("timestamps.inside_compressed_batch")
def inside_compressed_batch(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, [i * 10 for i in range(50)], linger_ms=500, compression_type="gzip")
    write(run, topic, start, [1000 + i for i in UNSORTED], linger_ms=500, compression_type="lz4")
    lookups(run, topic, start, {0: 0, 1: 1, 250: 25, 255: 26, 490: 49, 491: 50, 1011: 51, 1045: 51, 1051: OFFSET_END})


@case("timestamps.across_batches")
def across_batches(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, [i * 100 for i in range(100)])
    lookups(run, topic, start, {i * 100 - 50: i for i in (0, 1, 33, 50, 98, 99)} | {9901: OFFSET_END})


@case("timestamps.across_files")
def across_files(run):
    topic, start = create_topic(run), base()
    client = producer(run)
    value = bytes(i * 31 % 256 for i in range(1000)) * 400
    send_all(client, topic, [{"value": value, "timestamp": start + i * 1000} for i in range(45)])
    lookups(run, topic, start, {i * 1000 - 1: i for i in range(45)} | {44_001: OFFSET_END})


@case("timestamps.beyond_end")
def beyond_end(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, [0, 5])
    lookups(run, topic, start, {5: 1, 6: OFFSET_END, 10_000_000: OFFSET_END})


@case("timestamps.max_timestamp")
def max_timestamp(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, UNSORTED)
    where = TopicPartition(topic, 0)
    found = admin(run).list_offsets({where: OffsetSpec.max_timestamp()})[where].result(timeout=15)
    equal((found.offset, found.timestamp), (1, start + 50))


@case("timestamps.log_append_time")
def log_append_time(run):
    topic = create_topic(run, message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    send(producer(run), topic, b"x", timestamp=1_600_000_000_000)
    kind, stamp = read(run, topic, 1)[0].timestamp()
    equal(kind, TIMESTAMP_LOG_APPEND_TIME, "type")
    assert before - 2000 <= stamp <= int(time.time() * 1000) + 2000, stamp
