"""Timestamps and lookups by them."""

import time

from harness import case, equal
from kafka import TopicPartition
from kafka.admin import OffsetSpec
from kit import admin, consumer, create_topic, producer, read, send, send_all

CREATE_TIME, LOG_APPEND_TIME = 0, 1
UNSORTED = [10, 50, 20, 40, 30]


def base():
    return int(time.time() * 1000) - 3_600_000


def lookups(run, topic, start, expected):
    """Expects for each time after `start` the offset and the time of the record found there, or None."""
    client, where = consumer(run), TopicPartition(topic, 0)
    for after, record in expected.items():
        found = client.offsets_for_times({where: start + after})[where]
        equal(found and (found.offset, found.timestamp - start), record, f"first at or after {after}")


def write(run, topic, start, stamps, **configs):
    """One batch each, or all in one if the producer lingers."""
    client = producer(run, **configs)
    records = [{"value": b"%d" % stamp, "timestamp_ms": start + stamp} for stamp in stamps]
    if configs:
        send_all(client, topic, records)
    else:
        for record in records:
            send_all(client, topic, [record])


@case("timestamps.create_time")
def create_time(run):
    topic = create_topic(run, retention_ms=-1)  # The record is old enough to be deleted otherwise.
    send(producer(run), topic, b"x", timestamp_ms=1_600_000_000_123)
    got = read(run, topic, 1)[0]
    equal((got.timestamp_type, got.timestamp), (CREATE_TIME, 1_600_000_000_123))


@case("timestamps.unsorted")
def unsorted(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, UNSORTED)
    lookups(run, topic, start, {0: (0, 10), 10: (0, 10), 11: (1, 50), 45: (1, 50), 50: (1, 50), 51: None})


@case("timestamps.inside_compressed_batch")
def inside_compressed_batch(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, [i * 10 for i in range(50)], linger_ms=500, compression_type="gzip")
    write(run, topic, start, [1000 + i for i in UNSORTED], linger_ms=500, compression_type="lz4")
    expected = {0: (0, 0), 1: (1, 10), 250: (25, 250), 255: (26, 260), 490: (49, 490), 491: (50, 1010)}
    lookups(run, topic, start, expected | {1011: (51, 1050), 1045: (51, 1050), 1051: None})


@case("timestamps.across_batches")
def across_batches(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, [i * 100 for i in range(100)])
    lookups(run, topic, start, {i * 100 - 50: (i, i * 100) for i in (0, 1, 33, 50, 98, 99)} | {9901: None})


@case("timestamps.across_files")
def across_files(run):
    topic, start = create_topic(run), base()
    value = bytes(i * 31 % 256 for i in range(1000)) * 400
    records = [{"value": value, "timestamp_ms": start + i * 1000} for i in range(45)]
    send_all(producer(run), topic, records)
    lookups(run, topic, start, {i * 1000 - 1: (i, i * 1000) for i in range(45)} | {44_001: None})


@case("timestamps.beyond_end")
def beyond_end(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, [0, 5])
    lookups(run, topic, start, {5: (1, 5), 6: None, 10_000_000: None})


@case("timestamps.max_timestamp")
def max_timestamp(run):
    topic, start = create_topic(run), base()
    write(run, topic, start, UNSORTED)
    where = TopicPartition(topic, 0)
    found = admin(run).list_partition_offsets({where: OffsetSpec.MAX_TIMESTAMP})[where]
    equal((found.offset, found.timestamp - start), (1, 50))


@case("timestamps.log_append_time")
def log_append_time(run):
    topic = create_topic(run, message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    send(producer(run), topic, b"x", timestamp_ms=1_600_000_000_000)
    got = read(run, topic, 1)[0]
    equal(got.timestamp_type, LOG_APPEND_TIME, "type")
    assert before - 2000 <= got.timestamp <= int(time.time() * 1000) + 2000, got.timestamp
