"""Configs, DeleteRecords, the cluster."""

from harness import case, equal, eventually
from kafka import TopicPartition, errors
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kit import admin, consumer, create_topic, expect, producer, read, send, send_all

DYNAMIC_TOPIC_CONFIG = 1


def describe(run, name, kind=ConfigResourceType.TOPIC):
    found = admin(run).describe_configs([ConfigResource(kind, name)], config_filter="all")
    return found[kind.name.lower()][name]


def value(config):
    return config["value"]


def shown(run, topic, *names):
    configs = describe(run, topic)
    return [value(configs[name]) for name in names]


def shows(run, topic, expected):
    """Waits until retention.ms and max.message.bytes are these: a broker may learn of a change after its answer."""
    names = ("retention.ms", "max.message.bytes")
    eventually(lambda: shown(run, topic, *names) == expected, f"configs {expected}", seconds=5)


def alter(run, topic, configs, incremental=True):
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs)
    answer = admin(run).alter_configs([resource], raise_on_unknown=False, incremental=incremental)
    return answer["topic"][topic]


def refused(answer, error):
    assert error.__name__.removesuffix("Error") in str(answer) or isinstance(answer, error), f"answered {answer!r}"


@case("configs.describe_defaults")
def describe_defaults(run):
    configs = describe(run, create_topic(run))
    expected = {"retention.ms": "604800000", "cleanup.policy": "delete", "message.timestamp.type": "CreateTime"}
    equal({name: value(configs[name]) for name in expected}, expected, "defaults")
    assert all("DYNAMIC_TOPIC" not in str(configs[name]["config_source"]) for name in expected)


@case("configs.set")
def set_config(run):
    topic = create_topic(run, max_message_bytes=100_000)
    alter(run, topic, {"retention.ms": "3600000"})
    shows(run, topic, ["3600000", "100000"])


@case("configs.reset")
def reset(run):
    topic = create_topic(run, retention_ms=1234567, max_message_bytes=100_000)
    alter(run, topic, {"retention.ms": (AlterConfigOp.DELETE, None)})
    shows(run, topic, ["604800000", "100000"])


@case("configs.legacy_alter")
def legacy_alter(run):
    # The client completes the request with all other changed configs, so both must be there afterwards.
    topic = create_topic(run, max_message_bytes=100_000)
    alter(run, topic, {"retention.ms": "7200000"}, incremental=False)
    shows(run, topic, ["7200000", "100000"])


@case("configs.invalid_value")
def invalid_value(run):
    topic = create_topic(run, retention_ms=1234567)
    refused(alter(run, topic, {"retention.ms": "banana"}), errors.InvalidConfigurationError)
    equal(shown(run, topic, "retention.ms"), ["1234567"], "retention.ms")
    expect(errors.InvalidConfigurationError, lambda: create_topic(run, retention_ms="banana"))


@case("configs.unknown_name")
def unknown_name(run):
    topic = create_topic(run)
    refused(alter(run, topic, {"no.such.config": "1"}), errors.InvalidConfigurationError)
    expect(errors.InvalidConfigurationError, lambda: create_topic(run, no_such_config="1"))


@case("configs.unknown_topic")
def unknown_topic(run):
    refused(alter(run, run.topic(), {"retention.ms": "3600000"}), errors.UnknownTopicOrPartitionError)


@case("configs.describe_broker")
def describe_broker(run):
    broker = str(admin(run).describe_cluster()["brokers"][0]["broker_id"])
    configs = describe(run, broker, ConfigResourceType.BROKER)
    assert int(value(configs["message.max.bytes"])) >= 1_000_000, configs["message.max.bytes"]


def delete_records(run, topic, offset):
    where = TopicPartition(topic, 0)
    return admin(run).delete_records({where: offset}, timeout_ms=15000)[where]["low_watermark"]


def filled(run, count=10):
    topic = create_topic(run)
    send_all(producer(run), topic, [{"value": b"%d" % i} for i in range(count)])
    return topic


@case("delete_records.moves_start")
def moves_start(run):
    topic, where = filled(run), None
    equal(delete_records(run, topic, 6), 6, "low watermark")
    client, where = consumer(run), TopicPartition(topic, 0)
    equal((client.beginning_offsets([where])[where], client.end_offsets([where])[where]), (6, 10), "watermarks")
    equal([(r.offset, int(r.value)) for r in read(run, topic, 4)], [(i, i) for i in range(6, 10)])


@case("delete_records.to_end")
def to_end(run):
    topic = filled(run)
    equal(delete_records(run, topic, -1), 10, "low watermark")
    equal(send(producer(run), topic, b"later").offset, 10, "offset")
    equal([(r.offset, r.value) for r in read(run, topic, 1)], [(10, b"later")])


@case("delete_records.beyond_end")
def beyond_end(run):
    topic = filled(run)
    expect(errors.OffsetOutOfRangeError, delete_records, run, topic, 11)
    equal(len(read(run, topic, 10)), 10, "records left")


@case("cluster.describe")
def describe_cluster(run):
    found = admin(run).describe_cluster()
    assert found["cluster_id"], "no cluster id"
    assert found["controller_id"] in [broker["broker_id"] for broker in found["brokers"]], found
    assert any(broker["port"] == int(run.bootstrap.rsplit(":", 1)[1]) for broker in found["brokers"]), found
    expect(errors.TopicAlreadyExistsError, lambda: create_topic(run, name=create_topic(run)))
