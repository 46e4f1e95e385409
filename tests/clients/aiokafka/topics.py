"""Topic lifecycle."""

from aiokafka import errors
from aiokafka.admin import NewPartitions
from harness import case, equal
from kit import admin, create, create_topic, demand, describe, eventually, expect, producer, read, send, send_all, values
from settings import shown


async def names(run):
    return set(await (await admin(run)).list_topics())


async def delete(run, name):
    answer = await (await admin(run)).delete_topics([name], timeout_ms=15000)
    assert [code[0] for code in answer.topic_error_codes] == [name], answer
    demand(answer.topic_error_codes[0][1], name)


async def grow(run, name, partitions):
    await (await admin(run)).create_partitions({name: NewPartitions(partitions)}, timeout_ms=15000)


async def partition_ids(run, name):
    return sorted(p["partition"] for p in (await describe(run, name))["partitions"])


@case("topics.create_describe_list")
async def create_describe_list(run):
    topic = await create_topic(run, 3)
    described = await describe(run, topic)
    equal(described["error_code"], 0, "error")
    equal(await partition_ids(run, topic), [0, 1, 2], "partitions")
    assert all(p["leader"] >= 0 and p["error_code"] == 0 for p in described["partitions"]), described
    assert topic in await names(run)


@case("topics.create_existing")
async def create_existing(run):
    await expect(errors.TopicAlreadyExistsError, create(run, await create_topic(run)))


@case("topics.create_invalid_name")
async def create_invalid_name(run):
    for name in ("not a name", "..", "x" * 250):
        await expect(errors.InvalidTopicError, create(run, name))
        assert name not in await names(run)


@case("topics.create_zero_partitions")
async def create_zero_partitions(run):
    await expect(errors.InvalidPartitionsError, create(run, run.topic(), 0))


@case("topics.create_with_configs")
async def create_with_configs(run):
    topic = await create_topic(run, retention_ms=123456, max_message_bytes=77777)
    equal(await shown(run, topic, "retention.ms", "max.message.bytes"), ["123456", "77777"], "configs")


@case("topics.validate_only")
async def validate_only(run):
    topic = run.topic()
    await create(run, topic, validate_only=True)
    assert topic not in await names(run)
    await expect(errors.TopicAlreadyExistsError, create(run, await create_topic(run), validate_only=True))


async def gone(run, topic):
    async def check():
        return topic not in await names(run)

    await eventually(check, "gone")


@case("topics.delete")
async def delete_leaves_the_list(run):
    topic = await create_topic(run)
    assert topic in await names(run)
    await delete(run, topic)
    await gone(run, topic)


@case("topics.delete_unknown")
async def delete_unknown(run):
    await expect(errors.UnknownTopicOrPartitionError, delete(run, run.topic()))


@case("topics.recreate_is_empty")
async def recreate_is_empty(run):
    topic = await create_topic(run)
    await send(run, topic, b"old")
    await delete(run, topic)
    await gone(run, topic)
    await create_topic(run, name=topic)
    equal((await send(run, topic, b"new")).offset, 0, "offset")
    equal(values(await read(run, topic, 1)), [b"new"], "records")


@case("topics.grow_partitions")
async def grow_partitions(run):
    topic = await create_topic(run, 1)
    await send(run, topic, b"first", partition=0)
    await grow(run, topic, 4)

    async def grown():
        return await partition_ids(run, topic) == [0, 1, 2, 3]

    await eventually(grown, "four partitions")
    await send(run, topic, b"second", partition=3)
    found = {r.partition: r.value for r in await read(run, topic, 2, partitions=4)}
    equal(found, {0: b"first", 3: b"second"}, "records")


@case("topics.shrink_partitions_refused")
async def shrink_partitions_refused(run):
    topic = await create_topic(run, 3)
    await expect(errors.InvalidPartitionsError, grow(run, topic, 2))
    equal(await partition_ids(run, topic), [0, 1, 2], "partitions")


@case("topics.auto_create")
async def auto_create(run):
    topic = run.topic()
    placed = await send_all(await producer(run), topic, [{"value": b"made"}])
    equal(placed[0].offset, 0, "offset")
    assert topic in await names(run)
    equal(values(await read(run, topic, 1)), [b"made"], "records")
