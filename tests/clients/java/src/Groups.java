import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;

/** Members of consumer groups. */
final class Groups {
    static void register() {
        Harness.add("groups.death_rebalances", Groups::deathRebalances);
        Harness.add("groups.one_member", Groups::oneMember);
        Harness.add("groups.members_share", Groups::membersShare);
        Harness.add("groups.join_rebalances", Groups::joinRebalances);
        Harness.add("groups.leave_rebalances", Groups::leaveRebalances);
        Harness.add("groups.static_member_returns", Groups::staticMemberReturns);
        Harness.add("groups.static_member_fenced", Groups::staticMemberFenced);
        Harness.add("groups.cooperative", Groups::cooperative);
        Harness.add("groups.eager_roundrobin", Groups::eagerRoundRobin);
        Harness.add("groups.two_groups", Groups::twoGroups);
        Harness.add("groups.commit_by_outsider_refused", Groups::commitByOutsiderRefused);
    }

    static void settle(java.util.concurrent.Callable<Boolean> check, String what) throws Exception {
        Check.eventually(check, what, 25);
    }

    /** Whether two members together have every partition once, and each has as many as the other. */
    static boolean shared(Member one, Member other, String topic, int partitions) {
        var all = new ArrayList<>(one.partitions());
        all.addAll(other.partitions());
        return one.partitions().size() == other.partitions().size() && all.size() == partitions
                && new HashSet<>(all).equals(new HashSet<>(Kit.places(topic, partitions)));
    }

    /** Ten records in each partition, and their values, sorted. */
    static List<String> fill(Run run, String topic, int partitions) throws Exception {
        var values = IntStream.range(0, partitions * 10).mapToObj(i -> i % partitions + "-" + i / partitions).toList();
        List<ProducerRecord<byte[], byte[]>> records = values.stream()
                .map(v -> Kit.record(topic, Integer.valueOf(v.substring(0, v.indexOf('-'))), null, v)).toList();
        Kit.sendAll(Kit.producer(run), records);
        return values.stream().sorted().toList();
    }

    private static List<String> sortedValues(Member... members) {
        return Arrays.stream(members).flatMap(m -> Kit.values(m.got).stream()).sorted().toList();
    }

    private static void oneMember(Run run) throws Exception {
        var topic = Kit.createTopic(run, 3);
        var sent = fill(run, topic, 3);
        var member = new Member(run, run.group(), List.of(topic));
        settle(() -> member.got.size() == 30, "all records");
        Check.equal(sortedValues(member), sent, "records");
        Check.equal(member.partitions(), new HashSet<>(Kit.places(topic, 3)), "assignment");
    }

    private static void membersShare(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        var group = run.group();
        var one = new Member(run, group, List.of(topic));
        var other = new Member(run, group, List.of(topic));
        settle(() -> shared(one, other, topic, 4), "an even share");
        var sent = fill(run, topic, 4);
        settle(() -> one.got.size() + other.got.size() >= 40, "all records");
        Check.equal(sortedValues(one, other), sent, "records");
        Check.equal(one.got.size(), 20, "records of the first");
    }

    private static void joinRebalances(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        var group = run.group();
        var first = new Member(run, group, List.of(topic));
        settle(() -> first.partitions().size() == 4, "the first has all");
        var second = new Member(run, group, List.of(topic));
        settle(() -> shared(first, second, topic, 4), "both have some");
        Check.that(!first.revoked.isEmpty(), "nothing was revoked");
    }

    private static void leaveRebalances(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        var group = run.group();
        var stay = new Member(run, group, List.of(topic), "session.timeout.ms", 40000);
        var go = new Member(run, group, List.of(topic), "session.timeout.ms", 40000);
        settle(() -> shared(stay, go, topic, 4), "both have some");
        go.leave();
        settle(() -> stay.partitions().size() == 4, "the first has all, long before the session timeout");
    }

    private static void deathRebalances(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        var group = run.group();
        var doomed = new ProcessBuilder("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp",
                System.getProperty("java.class.path"), "Member", run.bootstrap, topic, group, "6000")
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        run.atEnd(doomed::destroyForcibly);
        var said = new BufferedReader(new InputStreamReader(doomed.getInputStream())).readLine();
        Check.equal(said, "4", "partitions of the doomed member");
        var heir = new Member(run, group, List.of(topic));
        settle(() -> heir.partitions().size() == 2, "both have some");
        long killed = System.nanoTime();
        doomed.destroyForcibly().waitFor();
        settle(() -> heir.partitions().size() == 4, "the heir has all");
        Check.that(System.nanoTime() - killed > 3e9, "the dead member was gone before its session could end");
    }

    private static void staticMemberReturns(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        var group = run.group();
        var stay = new Member(run, group, List.of(topic), "group.instance.id", "stay", "session.timeout.ms", 20000);
        var move = new Member(run, group, List.of(topic), "group.instance.id", "move", "session.timeout.ms", 20000);
        settle(() -> shared(stay, move, topic, 4), "both have some");
        var before = move.partitions();
        int changes = stay.assigned.size();
        move.leave();
        var again = new Member(run, group, List.of(topic), "group.instance.id", "move", "session.timeout.ms", 20000);
        settle(() -> again.partitions().equals(before), "the same partitions again");
        Thread.sleep(1000);
        Check.equal(stay.assigned.size(), changes, "rebalances of the other");
    }

    private static void staticMemberFenced(Run run) throws Exception {
        var topic = Kit.createTopic(run, 2);
        var group = run.group();
        var old = new Member(run, group, List.of(topic), "group.instance.id", "only");
        settle(() -> old.partitions().size() == 2, "the old one has all");
        var fresh = new Member(run, group, List.of(topic), "group.instance.id", "only");
        settle(() -> old.error != null && fresh.partitions().size() == 2, "the new one has all");
        Check.that(old.error instanceof FencedInstanceIdException, "error of the old one " + old.error);
    }

    private static void cooperative(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        var group = run.group();
        Object[] strategy = {"partition.assignment.strategy", CooperativeStickyAssignor.class.getName()};
        var first = new Member(run, group, List.of(topic), strategy);
        settle(() -> first.partitions().size() == 4, "the first has all");
        var second = new Member(run, group, List.of(topic), strategy);
        settle(() -> shared(first, second, topic, 4), "both have some");
        Check.equal(first.revoked.stream().mapToInt(i -> i).sum(), 2, "partitions revoked from the first");
        Check.equal(first.assigned.stream().mapToInt(i -> i).sum(), 4, "partitions ever assigned to the first");
    }

    private static void eagerRoundRobin(Run run) throws Exception {
        var topics = List.of(Kit.createTopic(run, 3), Kit.createTopic(run, 3));
        var group = run.group();
        Object[] strategy = {"partition.assignment.strategy", RoundRobinAssignor.class.getName()};
        var one = new Member(run, group, topics, strategy);
        var other = new Member(run, group, topics, strategy);
        settle(() -> one.partitions().size() == 3 && other.partitions().size() == 3, "three partitions each");
        var all = Stream.concat(one.partitions().stream(), other.partitions().stream()).toList();
        var everything = new HashSet<TopicPartition>();
        topics.forEach(topic -> everything.addAll(Kit.places(topic, 3)));
        Check.equal(new HashSet<>(all), everything, "all partitions");
    }

    private static void twoGroups(Run run) throws Exception {
        var topic = Kit.createTopic(run, 2);
        var sent = fill(run, topic, 2);
        var one = new Member(run, run.group(), List.of(topic));
        var other = new Member(run, run.group(), List.of(topic));
        settle(() -> one.got.size() == 20 && other.got.size() == 20, "all records in both");
        Check.equal(sortedValues(one), sent, "records of one");
        Check.equal(sortedValues(other), sent, "records of the other");
    }

    private static void commitByOutsiderRefused(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var group = run.group();
        var member = new Member(run, group, List.of(topic));
        settle(() -> !member.partitions().isEmpty(), "a member");
        Check.fails(CommitFailedException.class, () -> {
            Places.commit(Kit.consumer(run, group), topic, Map.of(0, 3));
            return "committed";
        });
    }

    private Groups() {}
}
