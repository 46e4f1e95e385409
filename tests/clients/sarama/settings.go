package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/IBM/sarama"

	h "tidemill/tests/clients/goharness"
)

func registerSettings() {
	h.Case("configs.describe_defaults", func(r *h.Run) {
		configs := topicConfigs(r, createTopic(r, 1))
		expected := map[string]string{
			"retention.ms": "604800000", "cleanup.policy": "delete", "message.timestamp.type": "CreateTime",
		}
		for name, value := range expected {
			h.Equal(configs[name].Value, value, name)
			h.That(configs[name].Source != sarama.SourceTopic, "%s is not a default", name)
		}
	})
	h.Case("configs.set", func(r *h.Run) {
		topic := createTopic(r, 1, config{"max.message.bytes", "100000"})
		h.Must(alter(r, topic, sarama.IncrementalAlterConfigsOperationSet, "retention.ms", "3600000"))
		shows(r, topic, []string{"3600000", "100000"})
		h.Equal(topicConfigs(r, topic)["retention.ms"].Source, sarama.SourceTopic, "source")
	})
	h.Case("configs.reset", func(r *h.Run) {
		topic := createTopic(r, 1, config{"retention.ms", "1234567"}, config{"max.message.bytes", "100000"})
		h.Must(alter(r, topic, sarama.IncrementalAlterConfigsOperationDelete, "retention.ms", ""))
		shows(r, topic, []string{"604800000", "100000"})
	})
	h.Case("configs.legacy_alter", func(r *h.Run) {
		topic, value := createTopic(r, 1, config{"max.message.bytes", "100000"}), "7200000"
		h.Must(admin(r).AlterConfig(sarama.TopicResource, topic, map[string]*string{"retention.ms": &value}, false))
		shows(r, topic, []string{"7200000", "1048588"})
	})
	h.Case("configs.invalid_value", func(r *h.Run) {
		topic := createTopic(r, 1, config{"retention.ms", "1234567"})
		set := sarama.IncrementalAlterConfigsOperationSet
		h.Fails(alter(r, topic, set, "retention.ms", "banana"), sarama.ErrInvalidConfig)
		h.Equal(shown(r, topic, "retention.ms"), []string{"1234567"}, "retention.ms")
		bad := detail(1, config{"retention.ms", "banana"})
		h.Fails(admin(r).CreateTopic(r.Topic(), bad, false), sarama.ErrInvalidConfig)
	})
	h.Case("configs.unknown_name", func(r *h.Run) {
		set := sarama.IncrementalAlterConfigsOperationSet
		h.Fails(alter(r, createTopic(r, 1), set, "no.such.config", "1"), sarama.ErrInvalidConfig)
		bad := detail(1, config{"no.such.config", "1"})
		h.Fails(admin(r).CreateTopic(r.Topic(), bad, false), sarama.ErrInvalidConfig)
	})
	h.Case("configs.unknown_topic", func(r *h.Run) {
		topic := r.Topic()
		_, err := admin(r).DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})
		h.Fails(err, sarama.ErrUnknownTopicOrPartition)
		set := sarama.IncrementalAlterConfigsOperationSet
		h.Fails(alter(r, topic, set, "retention.ms", "3600000"), sarama.ErrUnknownTopicOrPartition)
	})
	h.Case("configs.describe_broker", func(r *h.Run) {
		brokers, _, err := admin(r).DescribeCluster()
		h.Must(err)
		name := strconv.Itoa(int(brokers[0].ID()))
		found := configs(r, sarama.ConfigResource{Type: sarama.BrokerResource, Name: name})
		limit := h.Got(strconv.Atoi(found["message.max.bytes"].Value))
		h.That(limit >= 1_000_000, "message.max.bytes is %d", limit)
	})
	h.Case("delete_records.moves_start", func(r *h.Run) {
		topic := filled(r, 10)
		h.Must(admin(r).DeleteRecords(topic, map[int32]int64{0: 6}))
		h.Equal(ends(r, topic), [2]int64{6, 10}, "watermarks")
		from := open(r, topic, 0, sarama.OffsetOldest)
		h.Equal(at(take(r, from, 4)), span(6, 10), "records")
	})
	h.Case("delete_records.to_end", func(r *h.Run) {
		topic := filled(r, 10)
		h.Must(admin(r).DeleteRecords(topic, map[int32]int64{0: -1}))
		h.Equal(ends(r, topic), [2]int64{10, 10}, "watermarks")
		h.Equal(placed(send(producer(r), text(topic, "later"))), []int64{10}, "placed")
		h.Equal(at(read(r, topic, 0, 1)), []string{"10=later"}, "records")
	})
	h.Case("delete_records.beyond_end", func(r *h.Run) {
		topic := filled(r, 10)
		h.Fails(admin(r).DeleteRecords(topic, map[int32]int64{0: 11}), sarama.ErrOffsetOutOfRange)
		h.Equal(at(read(r, topic, 0, 10)), span(0, 10), "records left")
	})
	h.Case("cluster.describe", func(r *h.Run) {
		brokers, controller, err := admin(r).DescribeCluster()
		h.Must(err)
		ours, known := false, false
		for _, broker := range brokers {
			ours = ours || strings.HasSuffix(broker.Addr(), r.Bootstrap[strings.LastIndex(r.Bootstrap, ":"):])
			known = known || broker.ID() == controller
		}
		h.That(ours, "our broker is missing")
		h.That(known, "the controller %d is missing", controller)
		h.Fails(admin(r).CreateTopic(createTopic(r, 1), detail(1), false), sarama.ErrTopicAlreadyExists)
	})
}

func configs(r *h.Run, resource sarama.ConfigResource) map[string]sarama.ConfigEntry {
	found := map[string]sarama.ConfigEntry{}
	for _, entry := range h.Got(admin(r).DescribeConfig(resource)) {
		found[entry.Name] = entry
	}
	return found
}

func topicConfigs(r *h.Run, topic string) map[string]sarama.ConfigEntry {
	return configs(r, sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})
}

func shown(r *h.Run, topic string, names ...string) []string {
	all := topicConfigs(r, topic)
	var found []string
	for _, name := range names {
		found = append(found, all[name].Value)
	}
	return found
}

// shows waits until retention.ms and max.message.bytes are these: a broker may learn of a change after its answer.
func shows(r *h.Run, topic string, expected []string) {
	h.Eventually(func() bool {
		return slices.Equal(shown(r, topic, "retention.ms", "max.message.bytes"), expected)
	}, 5, "configs "+strings.Join(expected, " and "))
}

func alter(r *h.Run, topic string, operation sarama.IncrementalAlterConfigsOperation, name, value string) error {
	entry := sarama.IncrementalAlterConfigsEntry{Operation: operation}
	if operation == sarama.IncrementalAlterConfigsOperationSet {
		entry.Value = &value
	}
	change := map[string]sarama.IncrementalAlterConfigsEntry{name: entry}
	return admin(r).IncrementalAlterConfig(sarama.TopicResource, topic, change, false)
}
