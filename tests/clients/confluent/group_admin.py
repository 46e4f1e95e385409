"""What an admin does with groups."""

from confluent_kafka import (
    OFFSET_INVALID,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    TopicPartition,
)
from groups import Member, fill, settle, shared
from harness import case, equal, eventually
from kit import admin, consumer, create_topic, expect_code, result, take


def committed_group(run, topic, offset=3, partition=0):
    """An empty group with one committed offset."""
    group = run.group()
    client = consumer(run, group)
    client.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
    return group


def listed(run):
    found = admin(run).list_consumer_groups(request_timeout=10).result(timeout=15)
    assert not found.errors, found.errors
    return {group.group_id: group for group in found.valid}


def describe(run, group):
    return result(admin(run).describe_consumer_groups([group]), group)


def delete(run, group):
    return result(admin(run).delete_consumer_groups([group]), group)


def committed(run, group, topic, partition=0):
    return consumer(run, group).committed([TopicPartition(topic, partition)], timeout=10)[0].offset


@case("groups.list")
def list_groups(run):
    topic = create_topic(run)
    empty, living = committed_group(run, topic), run.group()
    member = Member(run, living, [topic])
    settle([member], lambda: member.partitions(), "a member")
    found = listed(run)
    equal(found[empty].state, ConsumerGroupState.EMPTY, "state of the empty group")
    equal(found[living].state, ConsumerGroupState.STABLE, "state of the living group")


@case("groups.describe")
def describe_group(run):
    topic, group = create_topic(run, 4), run.group()
    members = [
        Member(run, group, [topic], client_id=f"id-{i}", partition_assignment_strategy="roundrobin") for i in range(2)
    ]
    settle(members, lambda: shared(members, topic, 4), "both have some")
    found = describe(run, group)
    equal((found.state, found.partition_assignor), (ConsumerGroupState.STABLE, "roundrobin"), "state")
    assert found.coordinator.port > 0
    by_client = {m.client_id: {(p.topic, p.partition) for p in m.assignment.topic_partitions} for m in found.members}
    equal(by_client, {f"id-{i}": members[i].partitions() for i in range(2)}, "assignments")


@case("groups.delete")
def delete_group(run):
    topic = create_topic(run)
    group = committed_group(run, topic)
    equal(committed(run, group, topic), 3, "before")
    delete(run, group)
    assert group not in listed(run)
    equal(committed(run, group, topic), OFFSET_INVALID, "after")


@case("groups.delete_active_refused")
def delete_active_refused(run):
    topic, group = create_topic(run), run.group()
    member = Member(run, group, [topic])
    settle([member], lambda: member.partitions(), "a member")
    expect_code(KafkaError.NON_EMPTY_GROUP, delete, run, group)
    assert group in listed(run)


@case("groups.delete_unknown")
def delete_unknown(run):
    expect_code(KafkaError.GROUP_ID_NOT_FOUND, delete, run, run.group())


@case("groups.offsets_alter")
def offsets_alter(run):
    topic = create_topic(run)
    fill(run, topic, 1)
    group = committed_group(run, topic, 9)
    request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 4)])
    result(admin(run).alter_consumer_group_offsets([request]), group)
    listing = result(admin(run).list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]), group)
    equal([(p.topic, p.partition, p.offset) for p in listing.topic_partitions], [(topic, 0, 4)], "offsets")
    client = consumer(run, group)
    client.subscribe([topic])
    equal(take(client, 1)[0].offset(), 4, "first offset read")
