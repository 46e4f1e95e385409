import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;

/** What an admin does with groups. */
final class GroupAdmin {
    static void register() {
        Harness.add("groups.list", GroupAdmin::list);
        Harness.add("groups.describe", GroupAdmin::describe);
        Harness.add("groups.delete", run -> {
            var topic = Kit.createTopic(run, 1);
            var group = committedGroup(run, topic, Map.of(0, 3));
            Check.equal(stored(run, group), "{0=3}", "before");
            delete(run, group);
            Check.that(!states(run).containsKey(group), "still listed");
            Check.equal(Places.committed(Kit.consumer(run, group), topic, 0), null, "after");
        });
        Harness.add("groups.delete_active_refused", run -> {
            var group = run.group();
            var member = new Member(run, group, List.of(Kit.createTopic(run, 1)));
            Groups.settle(() -> !member.partitions().isEmpty(), "a member");
            Check.fails(GroupNotEmptyException.class, () -> delete(run, group));
            Check.that(states(run).containsKey(group), "listed");
        });
        Harness.add("groups.delete_unknown",
                run -> Check.fails(GroupIdNotFoundException.class, () -> delete(run, run.group())));
        Harness.add("groups.offsets_alter", GroupAdmin::offsetsAlter);
        Harness.add("groups.offsets_delete", run -> {
            var topic = Kit.createTopic(run, 2);
            var group = committedGroup(run, topic, Map.of(0, 3, 1, 5));
            Kit.done(run.admin().deleteConsumerGroupOffsets(group, Set.of(Kit.place(topic))).all());
            Check.equal(stored(run, group), "{1=5}", "offsets");
        });
    }

    /** An empty group with committed offsets. */
    private static String committedGroup(Run run, String topic, Map<Integer, Integer> offsets) {
        var group = run.group();
        Places.commit(Kit.consumer(run, group), topic, offsets);
        return group;
    }

    private static Map<String, GroupState> states(Run run) throws Exception {
        var found = new TreeMap<String, GroupState>();
        Kit.done(run.admin().listGroups().all()).forEach(g -> found.put(g.groupId(), g.groupState().orElse(null)));
        return found;
    }

    private static Void delete(Run run, String group) throws Exception {
        return Kit.done(run.admin().deleteConsumerGroups(List.of(group)).all());
    }

    /** Committed offsets by partition, as text. */
    private static String stored(Run run, String group) throws Exception {
        var found = new TreeMap<Integer, Long>();
        Kit.done(run.admin().listConsumerGroupOffsets(group, new ListConsumerGroupOffsetsOptions())
                .partitionsToOffsetAndMetadata()).forEach((p, o) -> found.put(p.partition(), o.offset()));
        return found.toString();
    }

    private static void list(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var empty = committedGroup(run, topic, Map.of(0, 3));
        var living = run.group();
        var member = new Member(run, living, List.of(topic));
        Groups.settle(() -> !member.partitions().isEmpty(), "a member");
        var found = states(run);
        Check.equal(found.get(empty), GroupState.EMPTY, "state of the empty group");
        Check.equal(found.get(living), GroupState.STABLE, "state of the living group");
    }

    private static void describe(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        var group = run.group();
        var strategy = RoundRobinAssignor.class.getName();
        var one = new Member(run, group, List.of(topic), "client.id", "one", "partition.assignment.strategy", strategy);
        var two = new Member(run, group, List.of(topic), "client.id", "two", "partition.assignment.strategy", strategy);
        Groups.settle(() -> Groups.shared(one, two, topic, 4), "both have some");
        ConsumerGroupDescription found =
                Kit.done(run.admin().describeConsumerGroups(List.of(group)).all()).get(group);
        Check.equal(found.groupState() + " " + found.partitionAssignor(), "Stable roundrobin", "state");
        Check.that(found.coordinator().port() > 0, "no coordinator");
        var assigned = new TreeMap<String, Set<TopicPartition>>();
        found.members().forEach(m -> assigned.put(m.clientId(), new HashSet<>(m.assignment().topicPartitions())));
        Check.equal(assigned, new TreeMap<>(Map.of("one", one.partitions(), "two", two.partitions())), "assignments");
    }

    private static void offsetsAlter(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        Kit.sendAll(Kit.producer(run), Kit.numbered(topic, 0, 10));
        var group = committedGroup(run, topic, Map.of(0, 9));
        Kit.done(run.admin().alterConsumerGroupOffsets(group, Map.of(Kit.place(topic), new OffsetAndMetadata(4))).all());
        Check.equal(stored(run, group), "{0=4}", "offsets");
        var client = Kit.consumer(run, group);
        client.subscribe(List.of(topic));
        Check.equal(Kit.at(Kit.take(client, 6)), Kit.range(4, 10), "records");
    }

    private GroupAdmin() {}
}
