import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** The console and admin tools, each as the process that their scripts start. */
final class Tools {
    private static final String TOOLS = "org.apache.kafka.tools.";

    static void register() {
        Harness.add("tools.topics_tool", Tools::topicsTool);
        Harness.add("tools.configs_tool", Tools::configsTool);
        Harness.add("tools.groups_tool", Tools::groupsTool);
        Harness.add("tools.get_offsets_tool", run -> {
            var topic = numberedTopic(run, 12);
            deleteTo(run, topic, 5);
            has(tool(run, "", TOOLS + "GetOffsetShell", "--topic", topic, "--time", "earliest"), topic + ":0:5");
            has(tool(run, "", TOOLS + "GetOffsetShell", "--topic", topic, "--time", "latest"), topic + ":0:12");
        });
        Harness.add("tools.delete_records_tool", run -> {
            var topic = numberedTopic(run, 10);
            has(deleteTo(run, topic, 7), "low_watermark: 7");
            Check.equal(Kit.at(Kit.read(run, topic, 3, 1)), Kit.range(7, 10), "records");
        });
        Harness.add("tools.console_producer", run -> {
            var topic = Kit.createTopic(run, 1);
            tool(run, "k1:v1\nk2:значение\n", TOOLS + "ConsoleProducer", "--topic", topic, "--reader-property",
                    "parse.key=true", "--reader-property", "key.separator=:");
            var got = Kit.read(run, topic, 2, 1).stream().map(r -> Kit.text(r.key()) + ":" + Kit.text(r.value())).toList();
            Check.equal(got, List.of("k1:v1", "k2:значение"), "records");
        });
        Harness.add("tools.console_consumer", Tools::consoleConsumer);
        Harness.add("tools.producer_perf", run -> {
            var topic = Kit.createTopic(run, 1);
            has(tool(run, "", TOOLS + "ProducerPerformance", "--topic", topic, "--num-records", "2000",
                    "--record-size", "100", "--throughput", "-1", "--command-property", "acks=all"),
                    "2000 records sent");
            Kit.read(run, topic, 2000, 1);
        });
        Harness.add("tools.consumer_perf", run -> {
            var topic = numberedTopic(run, 500);
            var said = tool(run, "", TOOLS + "ConsumerPerformance", "--topic", topic, "--num-records", "500",
                    "--timeout", "15000", "--hide-header");
            Check.that(Arrays.stream(said.split("[,\\s]+")).anyMatch("500"::equals), "500 records in: " + said);
        });
        Harness.add("tools.broker_api_versions", run -> {
            var said = tool(run, "", TOOLS + "BrokerApiVersionsCommand");
            for (var api : List.of("Produce(0)", "Fetch(1)", "ListOffsets(2)", "JoinGroup(11)", "CreateTopics(19)")) {
                Check.that(Pattern.compile(Pattern.quote(api) + ": [0-9]").matcher(said).find(), api + " in " + said);
            }
            Kit.createTopic(run, 2);
        });
        Harness.add("tools.cluster_tool", run -> {
            var id = Kit.done(run.admin().describeCluster().clusterId());
            Check.that(id != null && !id.isEmpty(), "no cluster id");
            has(tool(run, "", TOOLS + "ClusterTool", "cluster-id"), "Cluster ID: " + id);
        });
    }

    /** Runs a tool with the bootstrap server given, and returns what it printed. It must end well. */
    private static String tool(Run run, String input, String name, String... arguments) throws Exception {
        var command = new ArrayList<>(List.of("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp",
                System.getProperty("java.class.path"), name));
        var server = List.of("--bootstrap-server", run.bootstrap);
        if (name.endsWith("ClusterTool")) {
            command.addAll(List.of(arguments));
            command.addAll(server);
        } else {
            command.addAll(server);
            command.addAll(List.of(arguments));
        }
        var output = File.createTempFile("tool", ".txt");
        run.atEnd(output::delete);
        var process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output).start();
        run.atEnd(process::destroyForcibly);
        process.getOutputStream().write(Kit.bytes(input));
        process.getOutputStream().close();
        Check.that(process.waitFor(40, TimeUnit.SECONDS), name + " did not end: " + Files.readString(output.toPath()));
        var said = Files.readString(output.toPath());
        Check.that(process.exitValue() == 0, name + " ended with " + process.exitValue() + ": " + said);
        return said;
    }

    private static void has(String said, String... parts) {
        for (var part : parts) {
            Check.that(said.contains(part), "no `" + part + "` in: " + said);
        }
    }

    private static String numberedTopic(Run run, int count) throws Exception {
        var topic = Kit.createTopic(run, 1);
        Kit.sendAll(Kit.producer(run), Kit.numbered(topic, 0, count));
        return topic;
    }

    private static String deleteTo(Run run, String topic, int offset) throws Exception {
        var file = File.createTempFile("offsets", ".json");
        run.atEnd(file::delete);
        Files.writeString(file.toPath(), "{\"partitions\": [{\"topic\": \"" + topic
                + "\", \"partition\": 0, \"offset\": " + offset + "}], \"version\": 1}");
        return tool(run, "", TOOLS + "DeleteRecordsCommand", "--offset-json-file", file.getPath());
    }

    private static void topicsTool(Run run) throws Exception {
        var name = TOOLS + "TopicCommand";
        var topic = run.topic();
        has(tool(run, "", name, "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=99000"),
                "Created topic " + topic);
        Check.that(Arrays.asList(tool(run, "", name, "--list").split("\n")).contains(topic), "listed");
        has(tool(run, "", name, "--describe", "--topic", topic), "PartitionCount: 2", "retention.ms=99000",
                "Partition: 1");
        tool(run, "", name, "--alter", "--topic", topic, "--partitions", "3");
        Check.eventually(() -> Topics.readyPartitions(run, topic) == 3, "three partitions", 10);
        tool(run, "", name, "--delete", "--topic", topic);
        Check.eventually(() -> !Topics.names(run).contains(topic), "gone", 10);
    }

    private static void configsTool(Run run) throws Exception {
        var name = "kafka.admin.ConfigCommand";
        var topic = Kit.createTopic(run, 1);
        tool(run, "", name, "--entity-type", "topics", "--entity-name", topic, "--alter", "--add-config",
                "retention.ms=123000,max.message.bytes=54321");
        Check.eventually(() -> Settings.shown(run, topic, "max.message.bytes").equals(List.of("54321")), "configs", 5);
        has(tool(run, "", name, "--entity-type", "topics", "--entity-name", topic, "--describe"),
                "retention.ms=123000", "max.message.bytes=54321");
        tool(run, "", name, "--entity-type", "topics", "--entity-name", topic, "--alter", "--delete-config",
                "retention.ms");
        Check.eventually(() -> Settings.shown(run, topic, "retention.ms", "max.message.bytes")
                .equals(List.of("604800000", "54321")), "configs", 5);
    }

    private static void groupsTool(Run run) throws Exception {
        var name = TOOLS + "consumer.group.ConsumerGroupCommand";
        var topic = numberedTopic(run, 10);
        var group = run.group();
        Places.commit(Kit.consumer(run, group), topic, Map.of(0, 4));
        Check.that(Arrays.asList(tool(run, "", name, "--list").split("\n")).contains(group), "listed");
        var row = tool(run, "", name, "--describe", "--group", group);
        Check.that(Pattern.compile(Pattern.quote(topic) + "\\s+0\\s+4\\s+10\\s+6\\s").matcher(row).find(), row);
        has(tool(run, "", name, "--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "7", "--execute"),
                topic);
        Check.equal(Places.committed(Kit.consumer(run, group), topic, 0), 7L, "reset offset");
        has(tool(run, "", name, "--delete", "--group", group), "successful");
        Check.equal(Places.committed(Kit.consumer(run, group), topic, 0), null, "deleted offset");
    }

    private static void consoleConsumer(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1, "retention.ms", -1); // The record is old enough to be deleted otherwise.
        var record = Kit.record(topic, 0, 1_600_000_000_123L, "value");
        record.headers().add("h", Kit.bytes("x"));
        Kit.send(Kit.producer(run), record);
        var said = tool(run, "", TOOLS + "consumer.ConsoleConsumer", "--topic", topic, "--from-beginning",
                "--max-messages", "1", "--timeout-ms", "20000", "--formatter-property", "print.key=true",
                "--formatter-property", "print.headers=true", "--formatter-property", "print.timestamp=true",
                "--formatter-property", "print.offset=true", "--formatter-property", "print.partition=true");
        has(said, "CreateTime:1600000000123", "Partition:0", "Offset:0", "h:x", "null", "value");
    }

    private Tools() {}
}
