"""Configs, DeleteRecords, the cluster."""

import warnings

from confluent_kafka import OFFSET_END, KafkaError, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource, ResourceType
from harness import case, equal, eventually
from kit import admin, consumer, create_topic, expect_code, producer, read, result, send, send_all


def describe(run, name, kind=ResourceType.TOPIC):
    resource = ConfigResource(kind, name)
    return result(admin(run).describe_configs([resource]), resource)


def shown(run, topic, *names):
    configs = describe(run, topic)
    return [configs[name].value for name in names]


def shows(run, topic, expected):
    """Waits until retention.ms and max.message.bytes are these: a broker may learn of a change after its answer."""
    names = ("retention.ms", "max.message.bytes")
    eventually(lambda: shown(run, topic, *names) == expected, f"configs {expected}", seconds=5)


def alter(run, topic, operation, **configs):
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=operation) for name, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    return result(admin(run).incremental_alter_configs([resource]), resource)


@case("configs.describe_defaults")
def describe_defaults(run):
    configs = describe(run, create_topic(run))
    expected = {"retention.ms": "604800000", "cleanup.policy": "delete", "message.timestamp.type": "CreateTime"}
    equal({name: configs[name].value for name in expected}, expected, "defaults")
    assert all(configs[name].source != ConfigSource.DYNAMIC_TOPIC_CONFIG.value for name in expected)


@case("configs.set")
def set_config(run):
    topic = create_topic(run, max_message_bytes=100_000)
    alter(run, topic, AlterConfigOpType.SET, retention_ms="3600000")
    shows(run, topic, ["3600000", "100000"])
    equal(describe(run, topic)["retention.ms"].source, ConfigSource.DYNAMIC_TOPIC_CONFIG.value, "source")


@case("configs.reset")
def reset(run):
    topic = create_topic(run, retention_ms=1234567, max_message_bytes=100_000)
    alter(run, topic, AlterConfigOpType.DELETE, retention_ms=None)
    shows(run, topic, ["604800000", "100000"])


@case("configs.legacy_alter")
def legacy_alter(run):
    topic = create_topic(run, max_message_bytes=100_000)
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"retention.ms": "7200000"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        result(admin(run).alter_configs([resource]), resource)
    shows(run, topic, ["7200000", "1048588"])


@case("configs.invalid_value")
def invalid_value(run):
    topic = create_topic(run, retention_ms=1234567)
    expect_code(KafkaError.INVALID_CONFIG, lambda: alter(run, topic, AlterConfigOpType.SET, retention_ms="banana"))
    equal(shown(run, topic, "retention.ms"), ["1234567"], "retention.ms")
    expect_code(KafkaError.INVALID_CONFIG, lambda: create_topic(run, retention_ms="banana"))


@case("configs.unknown_name")
def unknown_name(run):
    topic = create_topic(run)
    expect_code(KafkaError.INVALID_CONFIG, lambda: alter(run, topic, AlterConfigOpType.SET, no_such_config="1"))
    expect_code(KafkaError.INVALID_CONFIG, lambda: create_topic(run, no_such_config="1"))


@case("configs.unknown_topic")
def unknown_topic(run):
    topic = run.topic()
    expect_code(KafkaError.UNKNOWN_TOPIC_OR_PART, describe, run, topic)
    expect_code(
        KafkaError.UNKNOWN_TOPIC_OR_PART, lambda: alter(run, topic, AlterConfigOpType.SET, retention_ms="3600000")
    )


@case("configs.describe_broker")
def describe_broker(run):
    broker = str(next(iter(admin(run).list_topics(timeout=10).brokers)))
    configs = describe(run, broker, ResourceType.BROKER)
    assert int(configs["message.max.bytes"].value) >= 1_000_000, configs["message.max.bytes"].value


def delete_records(run, topic, offset):
    where = TopicPartition(topic, 0, offset)
    return result(admin(run).delete_records([where]), where).low_watermark


def filled(run, count=10):
    topic = create_topic(run)
    send_all(producer(run), topic, [{"value": f"{i}"} for i in range(count)])
    return topic


@case("delete_records.moves_start")
def moves_start(run):
    topic = filled(run)
    equal(delete_records(run, topic, 6), 6, "low watermark")
    equal(consumer(run).get_watermark_offsets(TopicPartition(topic, 0), timeout=10), (6, 10), "watermarks")
    equal([(m.offset(), int(m.value())) for m in read(run, topic, 4)], [(i, i) for i in range(6, 10)])


@case("delete_records.to_end")
def to_end(run):
    topic = filled(run)
    equal(delete_records(run, topic, OFFSET_END), 10, "low watermark")
    equal(send(producer(run), topic, b"later").offset(), 10, "offset")
    equal([(m.offset(), m.value()) for m in read(run, topic, 1)], [(10, b"later")])


@case("delete_records.beyond_end")
def beyond_end(run):
    topic = filled(run)
    expect_code(KafkaError.OFFSET_OUT_OF_RANGE, delete_records, run, topic, 11)
    equal(len(read(run, topic, 10)), 10, "records left")


@case("cluster.describe")
def describe_cluster(run):
    found = admin(run).describe_cluster().result(timeout=15)
    assert found.cluster_id, "no cluster id"
    assert found.controller is not None and found.controller.id in [node.id for node in found.nodes]
    assert any(node.port == int(run.bootstrap.rsplit(":", 1)[1]) for node in found.nodes), "our broker is missing"
    equal(admin(run).list_topics(timeout=10).cluster_id, found.cluster_id, "cluster id in metadata")
    topic = create_topic(run)
    assert topic in admin(run).list_topics(topic, timeout=10).topics
    expect_code(KafkaError.TOPIC_ALREADY_EXISTS, lambda: create_topic(run, name=topic))
