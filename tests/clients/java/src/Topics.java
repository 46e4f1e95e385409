import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Topic lifecycle. */
final class Topics {
    static void register() {
        Harness.add("topics.create_describe_list", Topics::createDescribeList);
        Harness.add("topics.create_existing", run -> {
            var topic = Kit.createTopic(run, 1);
            Check.fails(TopicExistsException.class, () -> create(run, topic, 1, false));
        });
        Harness.add("topics.create_invalid_name", run -> {
            for (var name : List.of("not a name", "..", "x".repeat(250))) {
                Check.fails(InvalidTopicException.class, () -> create(run, name, 1, false));
                Check.that(!names(run).contains(name), "created");
            }
        });
        Harness.add("topics.create_zero_partitions", run -> Check.fails(
                InvalidPartitionsException.class, () -> create(run, run.topic(), 0, false)));
        Harness.add("topics.create_with_configs", run -> {
            var topic = Kit.createTopic(run, 1, "retention.ms", 123456, "max.message.bytes", 77777);
            Check.equal(Settings.shown(run, topic, "retention.ms", "max.message.bytes"), List.of("123456", "77777"),
                    "configs");
        });
        Harness.add("topics.validate_only", run -> {
            var topic = run.topic();
            create(run, topic, 1, true);
            Check.that(!names(run).contains(topic), "created");
            var existing = Kit.createTopic(run, 1);
            Check.fails(TopicExistsException.class, () -> create(run, existing, 1, true));
        });
        Harness.add("topics.delete", run -> {
            var topic = Kit.createTopic(run, 1);
            Check.that(names(run).contains(topic), "listed");
            delete(run, topic);
            Check.eventually(() -> !names(run).contains(topic), "gone", 15);
        });
        Harness.add("topics.delete_unknown", run -> Check.fails(
                UnknownTopicOrPartitionException.class, () -> delete(run, run.topic())));
        Harness.add("topics.recreate_is_empty", Topics::recreateIsEmpty);
        Harness.add("topics.grow_partitions", Topics::growPartitions);
        Harness.add("topics.shrink_partitions_refused", run -> {
            var topic = Kit.createTopic(run, 3);
            Check.fails(InvalidPartitionsException.class, () -> grow(run, topic, 2));
            Check.equal(describe(run, topic).partitions().size(), 3, "partitions");
        });
        Harness.add("topics.auto_create", run -> {
            var topic = run.topic();
            Check.equal(Kit.send(Kit.producer(run), topic, "made").offset(), 0L, "offset");
            Check.that(names(run).contains(topic), "listed");
            Check.equal(Kit.values(Kit.read(run, topic, 1, 1)), List.of("made"), "records");
        });
        Harness.add("topics.describe_unknown", run -> {
            var topic = run.topic();
            Check.fails(UnknownTopicOrPartitionException.class, () -> describe(run, topic));
            Check.that(!names(run).contains(topic), "created");
        });
    }

    static Set<String> names(Run run) throws Exception {
        return Kit.done(run.admin().listTopics().names());
    }

    static TopicDescription describe(Run run, String topic) throws Exception {
        return Kit.done(run.admin().describeTopics(List.of(topic)).allTopicNames()).get(topic);
    }

    /** How many partitions with a leader the broker's metadata has. */
    static int readyPartitions(Run run, String topic) throws Exception {
        if (!names(run).contains(topic)) {
            return 0;
        }
        return (int) describe(run, topic).partitions().stream().filter(p -> p.leader() != null).count();
    }

    static Void delete(Run run, String topic) throws Exception {
        return Kit.done(run.admin().deleteTopics(List.of(topic)).all());
    }

    private static Void create(Run run, String name, int partitions, boolean validateOnly) throws Exception {
        var options = new CreateTopicsOptions().validateOnly(validateOnly);
        return Kit.done(run.admin().createTopics(List.of(new NewTopic(name, partitions, (short) 1)), options).all());
    }

    private static Void grow(Run run, String topic, int partitions) throws Exception {
        return Kit.done(run.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(partitions))).all());
    }

    private static void createDescribeList(Run run) throws Exception {
        var topic = Kit.createTopic(run, 3);
        var described = describe(run, topic);
        Check.equal(described.name(), topic, "name");
        Check.equal(described.partitions().stream().map(p -> p.partition()).toList(), List.of(0, 1, 2), "partitions");
        Check.that(described.partitions().stream().allMatch(p -> p.leader() != null && p.leader().port() > 0), "leader");
        Check.that(!described.topicId().equals(Uuid.ZERO_UUID), "no topic id");
        Check.that(names(run).contains(topic), "listed");
    }

    private static void recreateIsEmpty(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        Kit.send(Kit.producer(run), topic, "old");
        delete(run, topic);
        Check.eventually(() -> !names(run).contains(topic), "gone", 15);
        Kit.createTopicNamed(run, topic, 1);
        Check.equal(Kit.send(Kit.producer(run), topic, "new").offset(), 0L, "offset");
        Check.equal(Kit.values(Kit.read(run, topic, 1, 1)), List.of("new"), "records");
    }

    private static void growPartitions(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        Kit.send(Kit.producer(run), Kit.record(topic, 0, null, "first"));
        grow(run, topic, 4);
        Check.eventually(() -> readyPartitions(run, topic) == 4, "four partitions", 15);
        Kit.send(Kit.producer(run), Kit.record(topic, 3, null, "second"));
        var found = Kit.read(run, topic, 2, 4).stream().map(r -> r.partition() + "=" + Kit.text(r.value())).sorted();
        Check.equal(found.toList(), List.of("0=first", "3=second"), "records");
    }

    private Topics() {}
}
