"""Topic lifecycle."""

from confluent_kafka import KafkaError, TopicCollection
from confluent_kafka.admin import ConfigResource, NewPartitions, NewTopic, ResourceType
from harness import case, equal, eventually
from kit import admin, create_topic, expect_code, producer, read, result, send, values


def names(run):
    return set(admin(run).list_topics(timeout=10).topics)


def create(run, name, partitions=1, **options):
    return result(admin(run).create_topics([NewTopic(name, partitions, 1)], **options), name)


def describe(run, name):
    return result(admin(run).describe_topics(TopicCollection([name])), name)


def delete(run, name):
    return result(admin(run).delete_topics([name], operation_timeout=10), name)


@case("topics.create_describe_list")
def create_describe_list(run):
    topic = create_topic(run, 3)
    described = describe(run, topic)
    equal(described.name, topic, "name")
    equal([p.id for p in described.partitions], [0, 1, 2], "partitions")
    assert all(p.leader is not None and p.leader.port > 0 for p in described.partitions)
    assert str(described.topic_id) not in ("", "AAAAAAAAAAAAAAAAAAAAAA"), "no topic id"
    assert topic in names(run)


@case("topics.create_existing")
def create_existing(run):
    topic = create_topic(run)
    expect_code(KafkaError.TOPIC_ALREADY_EXISTS, create, run, topic)


@case("topics.create_invalid_name")
def create_invalid_name(run):
    for name in ("not a name", "..", "x" * 250):
        expect_code(KafkaError.TOPIC_EXCEPTION, create, run, name)
        assert name not in names(run)


@case("topics.create_zero_partitions")
def create_zero_partitions(run):
    expect_code(KafkaError.INVALID_PARTITIONS, create, run, run.topic(), 0)


@case("topics.create_with_configs")
def create_with_configs(run):
    topic = create_topic(run, retention_ms=123456, max_message_bytes=77777)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    configs = result(admin(run).describe_configs([resource]), resource)
    equal(configs["retention.ms"].value, "123456", "retention.ms")
    equal(configs["max.message.bytes"].value, "77777", "max.message.bytes")


@case("topics.validate_only")
def validate_only(run):
    topic = run.topic()
    create(run, topic, validate_only=True)
    assert topic not in names(run)
    existing = create_topic(run)
    expect_code(KafkaError.TOPIC_ALREADY_EXISTS, lambda: create(run, existing, validate_only=True))


@case("topics.delete")
def delete_leaves_the_list(run):
    topic = create_topic(run)
    eventually(lambda: topic in names(run), "listed")
    delete(run, topic)
    eventually(lambda: topic not in names(run), "gone")


@case("topics.delete_unknown")
def delete_unknown(run):
    expect_code(KafkaError.UNKNOWN_TOPIC_OR_PART, delete, run, run.topic())


@case("topics.recreate_is_empty")
def recreate_is_empty(run):
    topic = create_topic(run)
    send(producer(run), topic, b"old")
    delete(run, topic)
    eventually(lambda: topic not in names(run), "gone")
    create_topic(run, name=topic)
    delivered = eventually(lambda: send(producer(run), topic, b"new"), "produce to the new topic")
    equal(delivered.offset(), 0, "offset")
    equal(values(read(run, topic, 1)), [b"new"], "records")


@case("topics.grow_partitions")
def grow_partitions(run):
    topic = create_topic(run, 1)
    send(producer(run), topic, b"first", partition=0)
    result(admin(run).create_partitions([NewPartitions(topic, 4)]), topic)
    eventually(lambda: len(describe(run, topic).partitions) == 4, "four partitions")
    send(producer(run), topic, b"second", partition=3)
    found = {m.partition(): m.value() for m in read(run, topic, 2, partitions=4)}
    equal(found, {0: b"first", 3: b"second"}, "records")


@case("topics.shrink_partitions_refused")
def shrink_partitions_refused(run):
    topic = create_topic(run, 3)
    expect_code(
        KafkaError.INVALID_PARTITIONS, lambda: result(admin(run).create_partitions([NewPartitions(topic, 2)]), topic)
    )
    equal(len(describe(run, topic).partitions), 3, "partitions")


@case("topics.auto_create")
def auto_create(run):
    topic = run.topic()
    equal(send(producer(run), topic, b"made").offset(), 0, "offset")
    assert topic in names(run)
    equal(values(read(run, topic, 1)), [b"made"], "records")


@case("topics.describe_unknown")
def describe_unknown(run):
    topic = run.topic()
    expect_code(KafkaError.UNKNOWN_TOPIC_OR_PART, describe, run, topic)
    assert topic not in names(run)
