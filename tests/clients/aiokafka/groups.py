"""Members of consumer groups, and what an admin sees of them."""

import asyncio
import os
import sys
import time

from aiokafka import ConsumerRebalanceListener, TopicPartition, errors
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from harness import case, equal
from kit import admin, at, consumer, create_topic, eventually, expect, poll, producer, send_all, take, values
from places import commit, filled

QUICK = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 300, "partition_assignment_strategy": [RangePartitionAssignor]}


class Member(ConsumerRebalanceListener):
    """A subscribed consumer in a task of its own that remembers what it read and how its assignment changed."""

    def __init__(self):
        self.got, self.assigned, self.revoked, self.error = [], [], [], None

    @classmethod
    async def join(cls, run, group, topics, **configs):
        self = cls()
        self.client = await consumer(run, group, **{**QUICK, **configs})
        self.client.subscribe(topics, listener=self)
        self._task = asyncio.create_task(self._poll())
        run.at_end(self.leave)
        return self

    async def _poll(self):
        while True:
            try:
                self.got += await poll(self.client)
            except errors.KafkaError as error:
                self.error = error
                return

    async def on_partitions_revoked(self, revoked):
        self.revoked.append(len(revoked))

    async def on_partitions_assigned(self, assigned):
        self.assigned.append(len(assigned))

    def partitions(self):
        return {(p.topic, p.partition) for p in self.client.assignment()}

    async def leave(self):
        self._task.cancel()
        await self.client.stop()


async def settle(check, what):
    await eventually(check, what, 25)


def shared(members, topic, partitions):
    """Whether the members together have every partition once, and each has some."""
    owned = [member.partitions() for member in members]
    return all(owned) and sorted(sum(map(list, owned), [])) == [(topic, p) for p in range(partitions)]


async def fill(run, topic, partitions, each=10):
    records = [{"value": b"%d-%d" % (p, i), "partition": p} for p in range(partitions) for i in range(each)]
    await send_all(await producer(run), topic, records)
    return sorted(record["value"] for record in records)


async def two(run, group, topics, **configs):
    return [await Member.join(run, group, topics, **configs) for _ in range(2)]


@case("groups.one_member")
async def one_member(run):
    topic = await create_topic(run, 3)
    sent = await fill(run, topic, 3)
    member = await Member.join(run, run.group(), [topic])
    await settle(lambda: len(member.got) == 30, "all records")
    equal(sorted(values(member.got)), sent, "records")
    equal(member.partitions(), {(topic, p) for p in range(3)}, "assignment")


@case("groups.members_share")
async def members_share(run):
    topic = await create_topic(run, 4)
    members = await two(run, run.group(), [topic])
    await settle(lambda: shared(members, topic, 4), "an even share")
    sent = await fill(run, topic, 4)
    await settle(lambda: sum(len(m.got) for m in members) >= 40, "all records")
    equal(sorted(values(members[0].got + members[1].got)), sent, "records")
    equal([len(m.got) for m in members], [20, 20], "records each")


@case("groups.join_rebalances")
async def join_rebalances(run):
    topic, group = await create_topic(run, 4), run.group()
    first = await Member.join(run, group, [topic])
    await settle(lambda: len(first.partitions()) == 4, "the first has all")
    second = await Member.join(run, group, [topic])
    await settle(lambda: shared([first, second], topic, 4), "both have some")
    assert 4 in first.revoked, f"revoked {first.revoked}"


@case("groups.leave_rebalances")
async def leave_rebalances(run):
    topic = await create_topic(run, 4)
    members = await two(run, run.group(), [topic], session_timeout_ms=40000)
    await settle(lambda: shared(members, topic, 4), "both have some")
    await members[1].leave()
    await settle(lambda: len(members[0].partitions()) == 4, "the first has all, long before the session timeout")


@case("groups.death_rebalances")
async def death_rebalances(run):
    topic, group = await create_topic(run, 4), run.group()
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "member.py")
    doomed = await asyncio.create_subprocess_exec(
        sys.executable, program, run.bootstrap, topic, group, "6000",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )

    async def kill():
        doomed.kill()

    run.at_end(kill)
    equal((await doomed.stdout.readline()).strip(), b"4", "partitions of the doomed member")
    heir = await Member.join(run, group, [topic], partition_assignment_strategy=[RoundRobinPartitionAssignor])
    await settle(lambda: len(heir.partitions()) == 2, "both have some")
    killed = time.monotonic()
    doomed.kill()
    await doomed.wait()
    await settle(lambda: len(heir.partitions()) == 4, "the heir has all")
    assert time.monotonic() - killed > 3, "the dead member was gone before its session could end"


@case("groups.static_member_returns")
async def static_member_returns(run):
    topic, group = await create_topic(run, 4), run.group()
    stay = await Member.join(run, group, [topic], group_instance_id="stay", session_timeout_ms=20000)
    move = await Member.join(run, group, [topic], group_instance_id="move", session_timeout_ms=20000)
    await settle(lambda: shared([stay, move], topic, 4), "both have some")
    before, changes = move.partitions(), len(stay.assigned)
    await move.leave()
    again = await Member.join(run, group, [topic], group_instance_id="move", session_timeout_ms=20000)
    await settle(lambda: again.partitions() == before, "the same partitions again")
    await asyncio.sleep(1)
    equal(len(stay.assigned), changes, "rebalances of the other")


@case("groups.eager_roundrobin")
async def eager_roundrobin(run):
    topics = [await create_topic(run, 3) for _ in range(2)]
    members = await two(run, run.group(), topics, partition_assignment_strategy=[RoundRobinPartitionAssignor])
    everything = sorted((topic, p) for topic in topics for p in range(3))
    await settle(lambda: [len(m.partitions()) for m in members] == [3, 3], "three partitions each")
    equal(sorted(list(members[0].partitions()) + list(members[1].partitions())), everything, "all partitions")


@case("groups.two_groups")
async def two_groups(run):
    topic = await create_topic(run, 2)
    sent = await fill(run, topic, 2)
    members = [await Member.join(run, run.group(), [topic]) for _ in range(2)]
    await settle(lambda: all(len(m.got) == 20 for m in members), "all records in both")
    for member in members:
        equal(sorted(values(member.got)), sent, "records")


@case("groups.commit_by_outsider_refused")
async def commit_by_outsider_refused(run):
    topic, group = await create_topic(run), run.group()
    member = await Member.join(run, group, [topic])
    await settle(member.partitions, "a member")
    outsider = await consumer(run, group)
    outsider.assign([TopicPartition(topic, 0)])
    await expect((errors.UnknownMemberIdError, errors.CommitFailedError), commit(outsider, topic, {0: 3}))


async def committed_group(run, topic, offsets):
    """An empty group with committed offsets by partition."""
    group = run.group()
    client = await consumer(run, group)
    client.assign([TopicPartition(topic, p) for p in offsets])
    await commit(client, topic, offsets)
    return group


@case("groups.list")
async def list_groups(run):
    topic, living = await create_topic(run), run.group()
    empty = await committed_group(run, topic, {0: 3})
    member = await Member.join(run, living, [topic])
    await settle(member.partitions, "a member")
    found = {group[0]: group[1] for group in await (await admin(run)).list_consumer_groups()}
    assert empty in found, "the empty group is not listed"
    equal(found[living], "consumer", "protocol type")


@case("groups.describe")
async def describe_group(run):
    topic, group = await create_topic(run, 4), run.group()
    members = {}
    for name in ("one", "two"):
        strategy = [RoundRobinPartitionAssignor]
        members[name] = await Member.join(
            run, group, [topic], client_id=name, partition_assignment_strategy=strategy
        )
    await settle(lambda: shared(list(members.values()), topic, 4), "both have some")
    code, name, state, kind, protocol, described, *_ = (
        (await (await admin(run)).describe_consumer_groups([group]))[0].groups[0]
    )
    equal((code, name, state, kind, protocol), (0, group, "Stable", "consumer", "roundrobin"), "group")
    assigned = {}
    for one in described:
        client_id, assignment = one[-4], ConsumerProtocolMemberAssignment.decode(one[-1])
        assigned[client_id] = {(t, p) for t, partitions in assignment.assignment for p in partitions}
    equal(assigned, {name: member.partitions() for name, member in members.items()}, "assignments")


@case("groups.offsets_alter")
async def offsets_alter(run):
    topic = await filled(run, 10)
    group = await committed_group(run, topic, {0: 9})
    client = await consumer(run, group)
    client.assign([TopicPartition(topic, 0)])
    await commit(client, topic, {0: 4})
    await client.stop()
    stored = await (await admin(run)).list_consumer_group_offsets(group)
    equal({p.partition: o.offset for p, o in stored.items()}, {0: 4}, "offsets")
    equal(at(await take(await consumer(run, group, [topic]), 6)), [(i, i) for i in range(4, 10)], "records")
