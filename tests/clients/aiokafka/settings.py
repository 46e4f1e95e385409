"""Configs, DeleteRecords, the cluster."""

from aiokafka import TopicPartition, errors
from aiokafka.admin import RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from harness import case, equal
from kit import admin, at, create, create_topic, demand, eventually, expect, producer, read, send, send_all

DYNAMIC_TOPIC_CONFIG = 1


async def configs_of(run, name, kind=ConfigResourceType.TOPIC):
    """Value and source of each config."""
    answer = (await (await admin(run)).describe_configs([ConfigResource(kind, name)]))[0]
    found = {resource[3]: resource for resource in answer.resources}
    demand(found[name][0], name)
    return {entry[0]: (entry[1], entry[3]) for entry in found[name][4]}


async def shown(run, topic, *names):
    configs = await configs_of(run, topic)
    return [configs[name][0] for name in names]


async def alter(run, topic, configs):
    """AlterConfigs: what is not named goes back to its default."""
    answers = await (await admin(run)).alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs)])
    found = {resource[3]: resource for answer in answers for resource in answer.resources}
    demand(found[topic][0], topic)


@case("configs.describe_defaults")
async def describe_defaults(run):
    configs = await configs_of(run, await create_topic(run))
    expected = {"retention.ms": "604800000", "cleanup.policy": "delete", "message.timestamp.type": "CreateTime"}
    equal({name: configs[name][0] for name in expected}, expected, "defaults")
    assert all(configs[name][1] != DYNAMIC_TOPIC_CONFIG for name in expected), configs


@case("configs.legacy_alter")
async def legacy_alter(run):
    topic = await create_topic(run, max_message_bytes=100_000)
    await alter(run, topic, {"retention.ms": "7200000"})

    async def changed():
        return await shown(run, topic, "retention.ms", "max.message.bytes") == ["7200000", "1048588"]

    await eventually(changed, "retention.ms set and max.message.bytes back to its default", seconds=5)
    equal((await configs_of(run, topic))["retention.ms"][1], DYNAMIC_TOPIC_CONFIG, "source")


@case("configs.invalid_value")
async def invalid_value(run):
    topic = await create_topic(run, retention_ms=1234567)
    await expect(errors.InvalidConfigurationError, alter(run, topic, {"retention.ms": "banana"}))
    equal(await shown(run, topic, "retention.ms"), ["1234567"], "retention.ms")
    await expect(errors.InvalidConfigurationError, create(run, run.topic(), retention_ms="banana"))


@case("configs.unknown_name")
async def unknown_name(run):
    topic = await create_topic(run)
    await expect(errors.InvalidConfigurationError, alter(run, topic, {"no.such.config": "1"}))
    await expect(errors.InvalidConfigurationError, create(run, run.topic(), no_such_config="1"))


@case("configs.unknown_topic")
async def unknown_topic(run):
    topic = run.topic()
    await expect(errors.UnknownTopicOrPartitionError, configs_of(run, topic))
    await expect(errors.UnknownTopicOrPartitionError, alter(run, topic, {"retention.ms": "3600000"}))


@case("configs.describe_broker")
async def describe_broker(run):
    broker = (await (await admin(run)).describe_cluster())["brokers"][0]["node_id"]
    configs = await configs_of(run, str(broker), ConfigResourceType.BROKER)
    assert int(configs["message.max.bytes"][0]) >= 1_000_000, configs["message.max.bytes"]


async def delete_records(run, topic, offset):
    where = TopicPartition(topic, 0)
    return (await (await admin(run)).delete_records({where: RecordsToDelete(offset)}, timeout_ms=15000))[where]


async def filled(run, count=10):
    topic = await create_topic(run)
    await send_all(await producer(run), topic, [{"value": b"%d" % i} for i in range(count)])
    return topic


@case("delete_records.moves_start")
async def moves_start(run):
    from places import ends

    topic = await filled(run)
    equal(await delete_records(run, topic, 6), 6, "low watermark")
    equal(await ends(run, topic), (6, 10), "watermarks")
    equal(at(await read(run, topic, 4)), [(i, i) for i in range(6, 10)])


@case("delete_records.to_end")
async def to_end(run):
    topic = await filled(run)
    equal(await delete_records(run, topic, -1), 10, "low watermark")
    equal((await send(run, topic, b"77")).offset, 10, "offset")
    equal(at(await read(run, topic, 1)), [(10, 77)])


@case("delete_records.beyond_end")
async def beyond_end(run):
    topic = await filled(run)
    await expect(errors.OffsetOutOfRangeError, delete_records(run, topic, 11))
    equal(at(await read(run, topic, 10)), [(i, i) for i in range(10)], "records left")


@case("cluster.describe")
async def describe_cluster(run):
    found = await (await admin(run)).describe_cluster()
    assert found["cluster_id"], "no cluster id"
    assert found["controller_id"] in [broker["node_id"] for broker in found["brokers"]], found
    assert any(broker["port"] == int(run.bootstrap.rsplit(":", 1)[1]) for broker in found["brokers"]), found
    await expect(errors.TopicAlreadyExistsError, create(run, await create_topic(run)))
