"""Members of consumer groups. Each polls in a thread of its own: a kafka-python poll may block for a rebalance that
needs the other members."""

import os
import subprocess
import sys
import threading
import time

from harness import case, equal, eventually
from kafka import ConsumerRebalanceListener, TopicPartition, errors
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kit import consumer, create_topic, expect, poll, producer, send_all, values
from places import commit

QUICK = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 300}


class Member(ConsumerRebalanceListener):
    """A subscribed consumer that remembers what it read and how its assignment changed."""

    def __init__(self, run, group, topics, **configs):
        self.client = consumer(run, group, **{**QUICK, **configs})
        self.got = []
        self.assigned = []
        self.revoked = []
        self.error = None
        self._owned = set()
        self._ended = threading.Event()
        for topic in topics:  # Without metadata this client assigns nothing, and may stay so until the next refresh.
            eventually(lambda name=topic: self.client.partitions_for_topic(name), "metadata")
        self.client.subscribe(topics, listener=self)
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()
        run.at_end(self.leave)

    def _poll(self):
        while not self._ended.is_set():
            try:
                self.got += poll(self.client)
                self._owned = set(self.client.assignment())
            except errors.KafkaError as error:
                self.error = error
                return

    def on_partitions_revoked(self, revoked):
        self.revoked.append(sorted(p.partition for p in revoked))

    def on_partitions_assigned(self, assigned):
        self.assigned.append(sorted(p.partition for p in assigned))

    def partitions(self):
        return {(p.topic, p.partition) for p in self._owned}

    def halt(self):
        self._ended.set()
        self._thread.join(10)

    def leave(self):
        self.halt()
        self.client.close(timeout_ms=2000)


def settle(check, what, seconds=25):
    eventually(check, what, seconds, pause=0.05)


def shared(members, topic, partitions):
    """Whether the members together have every partition once, and each has some."""
    owned = [member.partitions() for member in members]
    return all(owned) and sorted(sum(map(list, owned), [])) == [(topic, p) for p in range(partitions)]


def fill(run, topic, partitions, each=10):
    records = [{"value": b"%d-%d" % (p, i), "partition": p} for p in range(partitions) for i in range(each)]
    send_all(producer(run), topic, records)
    return sorted(record["value"] for record in records)


@case("groups.one_member")
def one_member(run):
    topic = create_topic(run, 3)
    sent = fill(run, topic, 3)
    member = Member(run, run.group(), [topic])
    settle(lambda: len(member.got) == 30, "all records")
    equal(sorted(values(member.got)), sent, "records")
    equal(member.partitions(), {(topic, p) for p in range(3)}, "assignment")


@case("groups.members_share")
def members_share(run):
    topic, group = create_topic(run, 4), run.group()
    members = [Member(run, group, [topic]) for _ in range(2)]
    settle(lambda: shared(members, topic, 4), "an even share")
    equal([len(m.partitions()) for m in members], [2, 2], "partitions each")
    sent = fill(run, topic, 4)
    settle(lambda: sum(len(m.got) for m in members) >= 40, "all records")
    equal(sorted(values(members[0].got + members[1].got)), sent, "records")


@case("groups.join_rebalances")
def join_rebalances(run):
    topic, group = create_topic(run, 4), run.group()
    first = Member(run, group, [topic])
    settle(lambda: len(first.partitions()) == 4, "the first has all")
    second = Member(run, group, [topic])
    settle(lambda: shared([first, second], topic, 4), "both have some")
    assert first.revoked, "nothing was revoked"


@case("groups.leave_rebalances")
def leave_rebalances(run):
    topic, group = create_topic(run, 4), run.group()
    members = [Member(run, group, [topic], session_timeout_ms=30000) for _ in range(2)]
    settle(lambda: shared(members, topic, 4), "both have some")
    members[1].leave()
    settle(lambda: len(members[0].partitions()) == 4, "the first has all", seconds=15)


@case("groups.death_rebalances")
def death_rebalances(run):
    topic, group = create_topic(run, 4), run.group()
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "member.py")
    doomed = subprocess.Popen(
        [sys.executable, program, run.bootstrap, topic, group, "6000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    run.at_end(doomed.kill)
    equal(doomed.stdout.readline().strip(), "4", "partitions of the doomed member")
    heir = Member(run, group, [topic])
    settle(lambda: len(heir.partitions()) == 2, "both have some")
    killed = time.monotonic()
    doomed.kill()
    doomed.wait()
    settle(lambda: len(heir.partitions()) == 4, "the heir has all", seconds=20)
    assert time.monotonic() - killed > 3, "the dead member was gone before its session could end"


@case("groups.static_member_returns")
def static_member_returns(run):
    topic, group = create_topic(run, 4), run.group()
    stay = Member(run, group, [topic], group_instance_id="stay", session_timeout_ms=20000)
    move = Member(run, group, [topic], group_instance_id="move", session_timeout_ms=20000)
    settle(lambda: shared([stay, move], topic, 4), "both have some")
    before, changes = move.partitions(), len(stay.assigned)
    move.leave()
    again = Member(run, group, [topic], group_instance_id="move", session_timeout_ms=20000)
    settle(lambda: again.partitions() == before, "the same partitions again")
    time.sleep(1)
    equal((len(stay.assigned), len(stay.partitions())), (changes, 2), "rebalances of the other")


@case("groups.static_member_fenced")
def static_member_fenced(run):
    topic, group = create_topic(run, 2), run.group()
    old = Member(run, group, [topic], group_instance_id="only")
    settle(lambda: len(old.partitions()) == 2, "the old one has all")
    new = Member(run, group, [topic], group_instance_id="only")
    settle(lambda: len(new.partitions()) == 2, "the new one has all")
    old.halt()
    expect(errors.FencedInstanceIdError, commit, old.client, topic, {0: 1})
    commit(new.client, topic, {0: 2})
    equal(new.client.committed(TopicPartition(topic, 0)), 2, "committed by the new one")


@case("groups.cooperative")
def cooperative(run):
    topic, group = create_topic(run, 4), run.group()
    strategy = {"partition_assignment_strategy": [CooperativeStickyAssignor]}
    first = Member(run, group, [topic], **strategy)
    settle(lambda: len(first.partitions()) == 4, "the first has all")
    second = Member(run, group, [topic], **strategy)
    settle(lambda: shared([first, second], topic, 4), "both have some")
    equal(sum(map(len, first.revoked)), 2, "partitions revoked from the first")
    equal(sum(map(len, first.assigned)), 4, "partitions ever assigned to the first")


@case("groups.eager_roundrobin")
def eager_roundrobin(run):
    topics, group = [create_topic(run, 3) for _ in range(2)], run.group()
    strategy = {"partition_assignment_strategy": [RoundRobinPartitionAssignor]}
    members = [Member(run, group, topics, **strategy) for _ in range(2)]
    everything = sorted((topic, p) for topic in topics for p in range(3))
    settle(lambda: [len(m.partitions()) for m in members] == [3, 3], "three partitions each")
    equal(sorted(list(members[0].partitions()) + list(members[1].partitions())), everything, "all partitions")


@case("groups.two_groups")
def two_groups(run):
    topic = create_topic(run, 2)
    sent = fill(run, topic, 2)
    members = [Member(run, run.group(), [topic]) for _ in range(2)]
    settle(lambda: all(len(m.got) == 20 for m in members), "all records in both")
    for member in members:
        equal(sorted(values(member.got)), sent, "records")


@case("groups.commit_by_outsider_refused")
def commit_by_outsider_refused(run):
    topic, group = create_topic(run), run.group()
    member = Member(run, group, [topic])
    settle(member.partitions, "a member")
    outsider = consumer(run, group)
    expect((errors.UnknownMemberIdError, errors.CommitFailedError), commit, outsider, topic, {0: 3})
