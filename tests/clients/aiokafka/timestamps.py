"""Timestamps and lookups by them."""

import time

from aiokafka import TopicPartition
from harness import case, equal
from kit import consumer, create_topic, producer, read, send, send_all

CREATE_TIME, LOG_APPEND_TIME = 0, 1
UNSORTED = [10, 50, 20, 40, 30]


def base():
    return int(time.time() * 1000) - 3_600_000


async def lookups(run, topic, start, expected):
    """Expects for each time after `start` the offset and the time of the record found there, or None."""
    client, where = await consumer(run), TopicPartition(topic, 0)
    for after, record in expected.items():
        found = (await client.offsets_for_times({where: start + after}))[where]
        equal(found and (found.offset, found.timestamp - start), record, f"first at or after {after}")


async def write(run, topic, start, stamps, **configs):
    """One batch each, or all in one if the producer lingers."""
    client = await producer(run, **configs)
    records = [{"value": b"%d" % stamp, "timestamp_ms": start + stamp} for stamp in stamps]
    if configs:
        await send_all(client, topic, records)
    else:
        for record in records:
            await send_all(client, topic, [record])


@case("timestamps.create_time")
async def create_time(run):
    topic = await create_topic(run, retention_ms=-1)  # The record is old enough to be deleted otherwise.
    await send(run, topic, b"x", timestamp_ms=1_600_000_000_123)
    got = (await read(run, topic, 1))[0]
    equal((got.timestamp_type, got.timestamp), (CREATE_TIME, 1_600_000_000_123))


@case("timestamps.unsorted")
async def unsorted(run):
    topic, start = await create_topic(run), base()
    await write(run, topic, start, UNSORTED)
    await lookups(run, topic, start, {0: (0, 10), 10: (0, 10), 11: (1, 50), 45: (1, 50), 50: (1, 50), 51: None})


@case("timestamps.inside_compressed_batch")
async def inside_compressed_batch(run):
    topic, start = await create_topic(run), base()
    await write(run, topic, start, [i * 10 for i in range(50)], linger_ms=500, compression_type="gzip")
    await write(run, topic, start, [1000 + i for i in UNSORTED], linger_ms=500, compression_type="lz4")
    expected = {0: (0, 0), 1: (1, 10), 250: (25, 250), 255: (26, 260), 490: (49, 490), 491: (50, 1010)}
    await lookups(run, topic, start, expected | {1011: (51, 1050), 1045: (51, 1050), 1051: None})


@case("timestamps.across_batches")
async def across_batches(run):
    topic, start = await create_topic(run), base()
    await write(run, topic, start, [i * 100 for i in range(100)])
    await lookups(run, topic, start, {i * 100 - 50: (i, i * 100) for i in (0, 1, 33, 50, 98, 99)} | {9901: None})


@case("timestamps.across_files")
async def across_files(run):
    topic, start = await create_topic(run), base()
    value = bytes(i * 31 % 256 for i in range(1000)) * 400
    await send_all(
        await producer(run), topic, [{"value": value, "timestamp_ms": start + i * 1000} for i in range(45)]
    )
    await lookups(run, topic, start, {i * 1000 - 1: (i, i * 1000) for i in range(45)} | {44_001: None})


@case("timestamps.beyond_end")
async def beyond_end(run):
    topic, start = await create_topic(run), base()
    await write(run, topic, start, [0, 5])
    await lookups(run, topic, start, {5: (1, 5), 6: None, 10_000_000: None})


@case("timestamps.log_append_time")
async def log_append_time(run):
    topic = await create_topic(run, message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    await send(run, topic, b"x", timestamp_ms=1_600_000_000_000)
    got = (await read(run, topic, 1))[0]
    equal(got.timestamp_type, LOG_APPEND_TIME, "type")
    assert before - 2000 <= got.timestamp <= int(time.time() * 1000) + 2000, got.timestamp
