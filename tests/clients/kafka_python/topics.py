"""Topic lifecycle."""

from harness import case, equal, eventually
from kafka import errors
from kit import admin, create_topic, expect, producer, read, send, values


def names(run):
    return set(admin(run).list_topics())


def describe(run, name):
    found = admin(run).describe_topics([name])[0]
    if found["error_code"]:
        raise errors.for_code(found["error_code"])(name)
    return found


def partition_ids(run, name):
    return sorted(p["partition_index"] for p in describe(run, name)["partitions"])


def create(run, name, partitions=1, **options):
    request = {name: {"num_partitions": partitions, "replication_factor": 1}}
    return admin(run).create_topics(request, timeout_ms=15000, **options)


def delete(run, name):
    return admin(run).delete_topics([name], timeout_ms=15000)


@case("topics.create_describe_list")
def create_describe_list(run):
    topic = create_topic(run, 3)
    described = describe(run, topic)
    equal(described["name"], topic, "name")
    equal(partition_ids(run, topic), [0, 1, 2], "partitions")
    assert all(p["leader_id"] >= 0 and p["error_code"] == 0 for p in described["partitions"]), described
    assert topic in names(run)


@case("topics.create_existing")
def create_existing(run):
    expect(errors.TopicAlreadyExistsError, create, run, create_topic(run))


@case("topics.create_invalid_name")
def create_invalid_name(run):
    for name in ("not a name", "..", "x" * 250):
        expect(errors.InvalidTopicError, create, run, name)
        assert name not in names(run)


@case("topics.create_zero_partitions")
def create_zero_partitions(run):
    expect(errors.InvalidPartitionsError, create, run, run.topic(), 0)


@case("topics.create_with_configs")
def create_with_configs(run):
    from settings import shown

    topic = create_topic(run, retention_ms=123456, max_message_bytes=77777)
    equal(shown(run, topic, "retention.ms", "max.message.bytes"), ["123456", "77777"], "configs")


@case("topics.validate_only")
def validate_only(run):
    topic = run.topic()
    create(run, topic, validate_only=True)
    assert topic not in names(run)
    expect(errors.TopicAlreadyExistsError, create, run, create_topic(run), validate_only=True)


@case("topics.delete")
def delete_leaves_the_list(run):
    topic = create_topic(run)
    eventually(lambda: topic in names(run), "listed")
    delete(run, topic)
    eventually(lambda: topic not in names(run), "gone")


@case("topics.delete_unknown")
def delete_unknown(run):
    expect(errors.UnknownTopicOrPartitionError, delete, run, run.topic())


@case("topics.recreate_is_empty")
def recreate_is_empty(run):
    topic = create_topic(run)
    send(producer(run), topic, b"old")
    delete(run, topic)
    eventually(lambda: topic not in names(run), "gone")
    create_topic(run, name=topic)
    equal(send(producer(run), topic, b"new").offset, 0, "offset")
    equal(values(read(run, topic, 1)), [b"new"], "records")


@case("topics.grow_partitions")
def grow_partitions(run):
    topic = create_topic(run, 1)
    send(producer(run), topic, b"first", partition=0)
    admin(run).create_partitions({topic: 4}, timeout_ms=15000)
    eventually(lambda: partition_ids(run, topic) == [0, 1, 2, 3], "four partitions")
    send(producer(run), topic, b"second", partition=3)
    found = {r.partition: r.value for r in read(run, topic, 2, partitions=4)}
    equal(found, {0: b"first", 3: b"second"}, "records")


@case("topics.shrink_partitions_refused")
def shrink_partitions_refused(run):
    topic = create_topic(run, 3)
    expect(errors.InvalidPartitionsError, admin(run).create_partitions, {topic: 2})
    equal(partition_ids(run, topic), [0, 1, 2], "partitions")


@case("topics.auto_create")
def auto_create(run):
    topic = run.topic()
    equal(send(producer(run), topic, b"made").offset, 0, "offset")
    assert topic in names(run)
    equal(values(read(run, topic, 1)), [b"made"], "records")


@case("topics.describe_unknown")
def describe_unknown(run):
    topic = run.topic()
    expect(errors.UnknownTopicOrPartitionError, describe, run, topic)
    assert topic not in names(run)
