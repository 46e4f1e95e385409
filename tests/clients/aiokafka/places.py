"""Partitions, offsets, seeking, flow, lag."""

import asyncio
import time

from aiokafka import TopicPartition, errors
from aiokafka.structs import OffsetAndMetadata
from harness import case, equal
from kit import admin, at, consumer, create_topic, describe, expect, nothing, producer, read, reader, send, send_all, take, values


def numbered(count, **fields):
    return [{"value": b"%d" % i, **fields} for i in range(count)]


async def filled(run, count):
    topic = await create_topic(run)
    await send_all(await producer(run), topic, numbered(count, partition=0))
    return topic


async def commit(client, topic, offsets, metadata=""):
    await client.commit({TopicPartition(topic, p): OffsetAndMetadata(o, metadata) for p, o in offsets.items()})




async def ends(run, topic):
    client, where = await consumer(run), TopicPartition(topic, 0)
    return (await client.beginning_offsets([where]))[where], (await client.end_offsets([where]))[where]


@case("partitions.chosen_partition")
async def chosen_partition(run):
    topic = await create_topic(run, 4)
    await send(run, topic, b"here", partition=2)
    got = (await read(run, topic, 1, partitions=4))[0]
    equal((got.partition, got.offset, got.value), (2, 0, b"here"))


@case("partitions.order_per_partition")
async def order_per_partition(run):
    topic = await create_topic(run, 4)
    await send_all(await producer(run), topic, [{"value": b"%d" % i, "partition": i % 4} for i in range(1000)])
    got = await read(run, topic, 1000, partitions=4)
    for partition in range(4):
        mine = at(r for r in got if r.partition == partition)
        equal(mine, [(n, n * 4 + partition) for n in range(250)], f"partition {partition}")


@case("partitions.same_key_same_partition")
async def same_key_same_partition(run):
    topic = await create_topic(run, 4)
    await send_all(await producer(run), topic, [{"key": b"k%d" % (i % 10), "value": b"v"} for i in range(100)])
    homes = {}
    for record in await read(run, topic, 100, partitions=4):
        homes.setdefault(record.key, set()).add(record.partition)
    equal(len(homes), 10, "keys")
    assert all(len(home) == 1 for home in homes.values()), homes
    assert len(set.union(*homes.values())) > 1, "all keys in one partition"


@case("partitions.many")
async def many(run):
    topic = await create_topic(run, 64)
    await send_all(await producer(run), topic, [{"value": b"%d" % p, "partition": p} for p in range(64)])
    got = await read(run, topic, 64, partitions=64)
    equal({r.partition: int(r.value) for r in got}, {p: p for p in range(64)})


@case("partitions.unknown_partition")
async def unknown_partition(run):
    topic = await create_topic(run, 2)
    await send(run, topic, b"known", partition=1)
    await expect((AssertionError, errors.KafkaError, ValueError), send(run, topic, b"x", partition=7))
    equal(values(await read(run, topic, 1, partitions=2)), [b"known"], "records")


@case("offsets.in_sequence")
async def in_sequence(run):
    topic = await create_topic(run)
    placed = await send_all(await producer(run), topic, numbered(100))
    equal([p.offset for p in placed], list(range(100)), "acknowledged")
    equal(at(await read(run, topic, 100)), [(i, i) for i in range(100)], "read")


@case("offsets.watermarks")
async def watermarks(run):
    topic = await create_topic(run)
    equal(await ends(run, topic), (0, 0), "empty")
    await send_all(await producer(run), topic, numbered(7))
    equal(await ends(run, topic), (0, 7), "after 7")


@case("offsets.reset_earliest")
async def reset_earliest(run):
    topic = await filled(run, 5)
    equal(at(await take(await consumer(run, run.group(), [topic]), 5)), [(i, i) for i in range(5)])


@case("offsets.reset_latest")
async def reset_latest(run):
    topic = await filled(run, 1)
    client = await consumer(run, run.group(), [topic], auto_offset_reset="latest")
    await nothing(client, 1.0)
    await send(run, topic, b"1")
    equal(at(await take(client, 1)), [(1, 1)])


@case("offsets.reset_none")
async def reset_none(run):
    topic = await filled(run, 1)
    client = await consumer(run, run.group(), [topic], auto_offset_reset="none")
    await expect(errors.NoOffsetForPartitionError, take(client, 1))
    equal(at(await read(run, topic, 1)), [(0, 0)], "records")


@case("offsets.out_of_range")
async def out_of_range(run):
    topic = await filled(run, 3)
    failing = await reader(run, topic, offset=1000, auto_offset_reset="none")
    await expect(errors.OffsetOutOfRangeError, take(failing, 1))
    resetting = await reader(run, topic, offset=1000)
    equal(at(await take(resetting, 3)), [(i, i) for i in range(3)], "after the reset")


@case("offsets.commit_and_resume")
async def commit_and_resume(run):
    topic, group = await filled(run, 10), run.group()
    first = await consumer(run, group, [topic], max_poll_records=4)
    equal(at(await take(first, 4)), [(i, i) for i in range(4)], "first reads")
    await first.commit()
    await first.stop()
    second = await consumer(run, group, [topic])
    equal(at(await take(second, 6)), [(i, i) for i in range(4, 10)], "second reads")


@case("offsets.commit_metadata")
async def commit_metadata(run):
    topic, group = await create_topic(run), run.group()
    client = await consumer(run, group)
    client.assign([TopicPartition(topic, 0)])
    await commit(client, topic, {0: 42}, "why: заметка")
    found = await (await admin(run)).list_consumer_group_offsets(group)
    equal(found, {TopicPartition(topic, 0): OffsetAndMetadata(42, "why: заметка")})


@case("offsets.committed_none")
async def committed_none(run):
    topic = await create_topic(run, 2)
    client = await consumer(run, run.group())
    client.assign([TopicPartition(topic, p) for p in range(2)])
    await commit(client, topic, {1: 5})
    equal([await client.committed(TopicPartition(topic, p)) for p in range(2)], [None, 5])


@case("offsets.auto_commit")
async def auto_commit(run):
    topic, group = await filled(run, 6), run.group()
    client = await consumer(run, group, [topic], enable_auto_commit=True, auto_commit_interval_ms=60000)
    await take(client, 6)
    await client.stop()
    equal(await (await consumer(run, group)).committed(TopicPartition(topic, 0)), 6)


@case("seek.offset")
async def seek_offset(run):
    topic = await filled(run, 20)
    client = await reader(run, topic)
    await take(client, 20)
    client.seek(TopicPartition(topic, 0), 13)
    equal(at(await take(client, 7)), [(i, i) for i in range(13, 20)])


@case("seek.beginning_end")
async def seek_beginning_end(run):
    topic = await filled(run, 5)
    client, where = await reader(run, topic), TopicPartition(topic, 0)
    await take(client, 5)
    await client.seek_to_beginning(where)
    equal(at(await take(client, 5))[0], (0, 0), "first")
    await client.seek_to_end(where)
    equal(await client.position(where), 5, "position at the end")
    await send(run, topic, b"later")
    equal(values(await take(client, 1)), [b"later"])


@case("seek.timestamp")
async def seek_timestamp(run):
    topic, start = await create_topic(run), int(time.time() * 1000) - 100_000
    records = [{"value": b"%d" % i, "timestamp_ms": start + i * 1000} for i in range(10)]
    await send_all(await producer(run), topic, records)
    client, where = await reader(run, topic), TopicPartition(topic, 0)
    found = (await client.offsets_for_times({where: start + 5500}))[where]
    equal((found.offset, found.timestamp - start), (6, 6000), "found")
    client.seek(where, found.offset)
    equal([(r.offset, r.timestamp - start) for r in await take(client, 4)], [(i, i * 1000) for i in range(6, 10)])


@case("seek.middle_of_batch")
async def middle_of_batch(run):
    topic = await create_topic(run)
    await send_all(await producer(run, linger_ms=500, compression_type="gzip"), topic, numbered(100))
    equal(at(await take(await reader(run, topic, offset=57), 43)), [(i, i) for i in range(57, 100)])


@case("flow.pause_resume")
async def pause_resume(run):
    topic = await create_topic(run, 2)
    client, sender = await reader(run, topic, 2), await producer(run)
    await send_all(sender, topic, [{"value": b"first", "partition": p} for p in range(2)])
    await take(client, 2)
    client.pause(TopicPartition(topic, 0))
    await send_all(sender, topic, [{"value": b"second", "partition": p} for p in range(2)])
    equal([(r.partition, r.value) for r in await take(client, 1)], [(1, b"second")], "while paused")
    await nothing(client, 0.6)
    client.resume(TopicPartition(topic, 0))
    equal([(r.partition, r.offset, r.value) for r in await take(client, 1)], [(0, 1, b"second")], "resumed")


@case("flow.long_poll")
async def long_poll(run):
    topic = await create_topic(run)
    client, sender = await reader(run, topic, fetch_max_wait_ms=20000), await producer(run, linger_ms=0)
    await sender.send_and_wait(topic, b"warm")
    await take(client, 1)
    for round_number in range(3):
        await nothing(client, 0.4)
        started = time.monotonic()
        await sender.send_and_wait(topic, b"%d" % round_number)
        equal(int((await take(client, 1))[0].value), round_number)
        waited = time.monotonic() - started
        assert waited < 5, f"a record took {waited:.1f} s of a fetch wait of 20 s"


@case("flow.quiet_fetch_waits")
async def quiet_fetch_waits(run):
    topic = await filled(run, 1)
    client = await reader(run, topic, fetch_max_wait_ms=500)
    await take(client, 1)
    fetches, original = [], client._client.send

    async def counting(node, request, *rest, **named):
        fetches.append(type(request).__name__)
        return await original(node, request, *rest, **named)

    client._client.send = counting
    await nothing(client, 3.0)
    count = sum(name.startswith("Fetch") for name in fetches)
    assert 2 <= count <= 14, f"{count} fetches of an empty topic in 3 s with a wait of 500 ms"


@case("lag.lag")
async def lag(run):
    topic, group = await create_topic(run, 2), run.group()
    await send_all(await producer(run), topic, numbered(10, partition=0) + numbered(4, partition=1))
    places = [TopicPartition(topic, p) for p in range(2)]
    client = await consumer(run, group)
    client.assign(places)
    await commit(client, topic, {0: 3, 1: 4})
    ends_now = await client.end_offsets(places)
    stored = await (await admin(run)).list_consumer_group_offsets(group)
    equal({p.partition: ends_now[p] - stored[p].offset for p in places}, {0: 7, 1: 0}, "lag")


@case("errors.invalid_topic_name")
async def invalid_topic_name(run):
    await asyncio.sleep(0)
    equal((await describe(run, "not a name"))["error_code"], errors.InvalidTopicError.errno, "error code")
