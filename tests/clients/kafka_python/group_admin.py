"""What an admin does with groups."""

from groups import Member, fill, settle, shared
from harness import case, equal
from kafka import OffsetAndMetadata, TopicPartition, errors
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kit import admin, consumer, create_topic, take
from places import commit


def committed_group(run, topic, offsets):
    """An empty group with committed offsets by partition."""
    group = run.group()
    commit(consumer(run, group), topic, offsets)
    return group


def listed(run):
    return {group["group_id"]: group for group in admin(run).list_groups()}


def delete(run, group):
    return admin(run).delete_groups([group])[group]


def stored(run, group):
    return {p.partition: o.offset for p, o in admin(run).list_group_offsets({group: None})[group].items()}


@case("groups.list")
def list_groups(run):
    topic = create_topic(run)
    empty, living = committed_group(run, topic, {0: 3}), run.group()
    member = Member(run, living, [topic])
    settle(member.partitions, "a member")
    found = listed(run)
    equal((found[empty]["group_state"], found[living]["group_state"]), ("Empty", "Stable"), "states")


@case("groups.describe")
def describe_group(run):
    topic, group = create_topic(run, 4), run.group()
    strategy = {"partition_assignment_strategy": [RoundRobinPartitionAssignor]}
    members = [Member(run, group, [topic], client_id=f"id-{i}", **strategy) for i in range(2)]
    settle(lambda: shared(members, topic, 4), "both have some")
    found = admin(run).describe_groups([group])[group]
    expected = (None, "Stable", "consumer", "roundrobin")
    equal((found["error"], found["group_state"], found["protocol_type"], found["protocol_data"]), expected, "state")
    assigned = {}
    for member in found["members"]:
        topics = member["member_assignment"]["assigned_partitions"]
        assigned[member["client_id"]] = {(t["topic"], p) for t in topics for p in t["partitions"]}
    equal(assigned, {f"id-{i}": members[i].partitions() for i in range(2)}, "assignments")


@case("groups.delete")
def delete_group(run):
    topic = create_topic(run)
    group = committed_group(run, topic, {0: 3})
    equal(stored(run, group), {0: 3}, "before")
    equal(delete(run, group), "OK")
    assert group not in listed(run)
    equal(consumer(run, group).committed(TopicPartition(topic, 0)), None, "after")


@case("groups.delete_active_refused")
def delete_active_refused(run):
    topic, group = create_topic(run), run.group()
    member = Member(run, group, [topic])
    settle(member.partitions, "a member")
    equal(delete(run, group), "NonEmptyGroupError")
    assert group in listed(run)


@case("groups.delete_unknown")
def delete_unknown(run):
    equal(delete(run, run.group()), "GroupIdNotFoundError")


@case("groups.offsets_alter")
def offsets_alter(run):
    topic = create_topic(run)
    fill(run, topic, 1)
    group = committed_group(run, topic, {0: 9})
    where = TopicPartition(topic, 0)
    answer = admin(run).alter_group_offsets(group, {where: OffsetAndMetadata(4, "", -1)})
    equal(answer, {where: errors.NoError}, "answer")
    equal(stored(run, group), {0: 4}, "offsets")
    client = consumer(run, group)
    client.subscribe([topic])
    equal(take(client, 6)[0].offset, 4, "first offset read")


@case("groups.offsets_delete")
def offsets_delete(run):
    topic = create_topic(run, 2)
    group = committed_group(run, topic, {0: 3, 1: 5})
    answer = admin(run).delete_group_offsets(group, [TopicPartition(topic, 0)])
    equal(answer, {TopicPartition(topic, 0): errors.NoError}, "answer")
    equal(stored(run, group), {1: 5}, "offsets")
