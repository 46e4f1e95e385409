import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Configs, DeleteRecords, the cluster. */
final class Settings {
    static void register() {
        Harness.add("configs.describe_defaults", Settings::describeDefaults);
        Harness.add("configs.set", run -> {
            var topic = Kit.createTopic(run, 1, "max.message.bytes", 100_000);
            alter(run, topic, AlterConfigOp.OpType.SET, "retention.ms", "3600000");
            shows(run, topic, List.of("3600000", "100000"));
            Check.equal(describe(run, topic).get("retention.ms").source(),
                    ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, "source");
        });
        Harness.add("configs.reset", run -> {
            var topic = Kit.createTopic(run, 1, "retention.ms", 1234567, "max.message.bytes", 100_000);
            alter(run, topic, AlterConfigOp.OpType.DELETE, "retention.ms", null);
            shows(run, topic, List.of("604800000", "100000"));
        });
        Harness.add("configs.invalid_value", run -> {
            var topic = Kit.createTopic(run, 1, "retention.ms", 1234567);
            Check.fails(InvalidConfigurationException.class,
                    () -> alter(run, topic, AlterConfigOp.OpType.SET, "retention.ms", "banana"));
            Check.equal(shown(run, topic, "retention.ms"), List.of("1234567"), "retention.ms");
            Check.fails(InvalidConfigurationException.class, () -> Kit.createTopic(run, 1, "retention.ms", "banana"));
        });
        Harness.add("configs.unknown_name", run -> {
            var topic = Kit.createTopic(run, 1);
            Check.fails(InvalidConfigurationException.class,
                    () -> alter(run, topic, AlterConfigOp.OpType.SET, "no.such.config", "1"));
            Check.fails(InvalidConfigurationException.class, () -> Kit.createTopic(run, 1, "no.such.config", "1"));
        });
        Harness.add("configs.unknown_topic", run -> {
            var topic = run.topic();
            Check.fails(UnknownTopicOrPartitionException.class, () -> describe(run, topic));
            Check.fails(UnknownTopicOrPartitionException.class,
                    () -> alter(run, topic, AlterConfigOp.OpType.SET, "retention.ms", "3600000"));
        });
        Harness.add("configs.describe_broker", Settings::describeBroker);
        Harness.add("delete_records.moves_start", Settings::movesStart);
        Harness.add("delete_records.to_end", run -> {
            var topic = filled(run);
            Check.equal(deleteRecords(run, topic, -1), 10L, "low watermark");
            Check.equal(Kit.send(Kit.producer(run), topic, "later").offset(), 10L, "offset");
            Check.equal(Kit.at(Kit.read(run, topic, 1, 1)), List.of("10=later"), "records");
        });
        Harness.add("delete_records.beyond_end", run -> {
            var topic = filled(run);
            Check.fails(OffsetOutOfRangeException.class, () -> deleteRecords(run, topic, 11));
            Check.equal(Kit.at(Kit.read(run, topic, 10, 1)), Kit.range(0, 10), "records left");
        });
        Harness.add("cluster.describe", Settings::describeCluster);
    }

    private static Config describe(Run run, String name, ConfigResource.Type type) throws Exception {
        var resource = new ConfigResource(type, name);
        return Kit.done(run.admin().describeConfigs(List.of(resource)).all()).get(resource);
    }

    private static Config describe(Run run, String topic) throws Exception {
        return describe(run, topic, ConfigResource.Type.TOPIC);
    }

    static List<String> shown(Run run, String topic, String... names) throws Exception {
        var configs = describe(run, topic);
        return Arrays.stream(names).map(name -> configs.get(name).value()).toList();
    }

    /** Waits until retention.ms and max.message.bytes are these: a broker may learn of a change after its answer. */
    private static void shows(Run run, String topic, List<String> expected) throws Exception {
        Check.eventually(() -> shown(run, topic, "retention.ms", "max.message.bytes").equals(expected),
                "configs " + expected, 5);
    }

    private static Void alter(Run run, String topic, AlterConfigOp.OpType operation, String name, String value)
            throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        var change = new AlterConfigOp(new ConfigEntry(name, value), operation);
        return Kit.done(run.admin().incrementalAlterConfigs(Map.of(resource, List.of(change))).all());
    }

    private static void describeDefaults(Run run) throws Exception {
        var configs = describe(run, Kit.createTopic(run, 1));
        Map.of("retention.ms", "604800000", "cleanup.policy", "delete", "message.timestamp.type", "CreateTime")
                .forEach((name, value) -> {
                    Check.equal(configs.get(name).value(), value, name);
                    Check.that(configs.get(name).source() != ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, name);
                });
    }

    private static void describeBroker(Run run) throws Exception {
        var broker = Kit.done(run.admin().describeCluster().nodes()).iterator().next().idString();
        var limit = describe(run, broker, ConfigResource.Type.BROKER).get("message.max.bytes");
        Check.that(limit != null && Long.parseLong(limit.value()) >= 1_000_000, "message.max.bytes " + limit);
    }

    private static String filled(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        Kit.sendAll(Kit.producer(run), Kit.numbered(topic, null, 10));
        return topic;
    }

    private static long deleteRecords(Run run, String topic, long before) throws Exception {
        var where = Kit.place(topic);
        var answer = run.admin().deleteRecords(Map.of(where, RecordsToDelete.beforeOffset(before)));
        return Kit.done(answer.lowWatermarks().get(where)).lowWatermark();
    }

    private static void movesStart(Run run) throws Exception {
        var topic = filled(run);
        Check.equal(deleteRecords(run, topic, 6), 6L, "low watermark");
        var client = Kit.consumer(run, null);
        Check.equal(client.beginningOffsets(Kit.places(topic, 1)), Map.of(Kit.place(topic), 6L), "beginning");
        Check.equal(client.endOffsets(Kit.places(topic, 1)), Map.of(Kit.place(topic), 10L), "end");
        Check.equal(Kit.at(Kit.read(run, topic, 4, 1)), Kit.range(6, 10), "records");
    }

    private static void describeCluster(Run run) throws Exception {
        var found = run.admin().describeCluster();
        Check.that(!Kit.done(found.clusterId()).isEmpty(), "no cluster id");
        var nodes = Kit.done(found.nodes());
        int port = Integer.parseInt(run.bootstrap.substring(run.bootstrap.lastIndexOf(':') + 1));
        Check.that(nodes.stream().anyMatch(node -> node.port() == port), "our broker is not in " + nodes);
        Check.that(nodes.contains(Kit.done(found.controller())), "the controller is not in " + nodes);
        var topic = Kit.createTopic(run, 1);
        Check.fails(TopicExistsException.class, () -> Kit.createTopicNamed(run, topic, 1));
    }

    private Settings() {}
}
