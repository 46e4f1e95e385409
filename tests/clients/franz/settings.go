package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	h "tidemill/tests/clients/goharness"
)

func registerSettings() {
	h.Case("configs.describe_defaults", func(r *h.Run) {
		configs := describeTopic(r, createTopic(r, 1))
		expected := map[string]string{
			"retention.ms": "604800000", "cleanup.policy": "delete", "message.timestamp.type": "CreateTime",
		}
		for name, value := range expected {
			h.Equal(configs[name].MaybeValue(), value, name)
			h.That(configs[name].Source != kmsg.ConfigSourceDynamicTopicConfig, "%s is not a default", name)
		}
	})
	h.Case("configs.set", func(r *h.Run) {
		topic := createTopic(r, 1, config{"max.message.bytes", "100000"})
		h.Must(alter(r, topic, kadm.SetConfig, "retention.ms", "3600000"))
		shows(r, topic, []string{"3600000", "100000"})
		h.Equal(describeTopic(r, topic)["retention.ms"].Source, kmsg.ConfigSourceDynamicTopicConfig, "source")
	})
	h.Case("configs.reset", func(r *h.Run) {
		topic := createTopic(r, 1, config{"retention.ms", "1234567"}, config{"max.message.bytes", "100000"})
		h.Must(alter(r, topic, kadm.DeleteConfig, "retention.ms", ""))
		shows(r, topic, []string{"604800000", "100000"})
	})
	h.Case("configs.legacy_alter", func(r *h.Run) {
		topic := createTopic(r, 1, config{"max.message.bytes", "100000"})
		change := []kadm.AlterConfig{{Name: "retention.ms", Value: kadm.StringPtr("7200000")}}
		for _, answer := range h.Got(admin(r).AlterTopicConfigsState(r.Ctx, change, topic)) {
			h.Must(answer.Err)
		}
		shows(r, topic, []string{"7200000", "1048588"})
	})
	h.Case("configs.invalid_value", func(r *h.Run) {
		topic := createTopic(r, 1, config{"retention.ms", "1234567"})
		h.Fails(alter(r, topic, kadm.SetConfig, "retention.ms", "banana"), kerr.InvalidConfig)
		h.Equal(shown(r, topic, "retention.ms"), []string{"1234567"}, "retention.ms")
		h.Fails(createWith(r, config{"retention.ms", "banana"}), kerr.InvalidConfig)
	})
	h.Case("configs.unknown_name", func(r *h.Run) {
		h.Fails(alter(r, createTopic(r, 1), kadm.SetConfig, "no.such.config", "1"), kerr.InvalidConfig)
		h.Fails(createWith(r, config{"no.such.config", "1"}), kerr.InvalidConfig)
	})
	h.Case("configs.unknown_topic", func(r *h.Run) {
		topic := r.Topic()
		found, err := h.Got(admin(r).DescribeTopicConfigs(r.Ctx, topic)).On(topic, nil)
		h.Must(err)
		h.Fails(found.Err, kerr.UnknownTopicOrPartition)
		h.Fails(alter(r, topic, kadm.SetConfig, "retention.ms", "3600000"), kerr.UnknownTopicOrPartition)
	})
	h.Case("configs.describe_broker", func(r *h.Run) {
		broker := h.Got(admin(r).ListBrokers(r.Ctx))[0].NodeID
		found := h.Got(h.Got(admin(r).DescribeBrokerConfigs(r.Ctx, broker)).On(strconv.Itoa(int(broker)), nil))
		limit := h.Got(strconv.Atoi(byName(found)["message.max.bytes"].MaybeValue()))
		h.That(limit >= 1_000_000, "message.max.bytes is %d", limit)
	})
	h.Case("delete_records.moves_start", func(r *h.Run) {
		topic := filled(r, 10)
		h.Equal(h.Got(deleteRecords(r, topic, 6)), int64(6), "low watermark")
		h.Equal(ends(r, topic), [2]int64{6, 10}, "watermarks")
		h.Equal(at(read(r, topic, 4, 1)), span(6, 10), "records")
	})
	h.Case("delete_records.to_end", func(r *h.Run) {
		topic := filled(r, 10)
		h.Equal(h.Got(deleteRecords(r, topic, -1)), int64(10), "low watermark")
		h.Equal(at(send(r, producer(r), text(topic, "later"))), []string{"10=later"}, "placed")
		h.Equal(at(read(r, topic, 1, 1)), []string{"10=later"}, "records")
	})
	h.Case("delete_records.beyond_end", func(r *h.Run) {
		topic := filled(r, 10)
		_, err := deleteRecords(r, topic, 11)
		h.Fails(err, kerr.OffsetOutOfRange)
		h.Equal(at(read(r, topic, 10, 1)), span(0, 10), "records left")
	})
	h.Case("cluster.describe", describeCluster)
}

func byName(resource kadm.ResourceConfig) map[string]*kadm.Config {
	h.Must(resource.Err)
	found := map[string]*kadm.Config{}
	for _, one := range resource.Configs {
		found[one.Key] = &one
	}
	return found
}

func describeTopic(r *h.Run, topic string) map[string]*kadm.Config {
	return byName(h.Got(h.Got(admin(r).DescribeTopicConfigs(r.Ctx, topic)).On(topic, nil)))
}

func shown(r *h.Run, topic string, names ...string) []string {
	configs := describeTopic(r, topic)
	var found []string
	for _, name := range names {
		found = append(found, configs[name].MaybeValue())
	}
	return found
}

// shows waits until retention.ms and max.message.bytes are these: a broker may learn of a change after its answer.
func shows(r *h.Run, topic string, expected []string) {
	h.Eventually(func() bool {
		return slices.Equal(shown(r, topic, "retention.ms", "max.message.bytes"), expected)
	}, 5, "configs "+strings.Join(expected, " and "))
}

func alter(r *h.Run, topic string, operation kadm.IncrementalOp, name, value string) error {
	change := kadm.AlterConfig{Op: operation, Name: name}
	if operation == kadm.SetConfig {
		change.Value = &value
	}
	answer := h.Got(admin(r).AlterTopicConfigs(r.Ctx, []kadm.AlterConfig{change}, topic))
	h.Equal(len(answer), 1, "answers")
	return answer[0].Err
}

func createWith(r *h.Run, c config) error {
	_, err := admin(r).CreateTopic(r.Ctx, 1, 1, configMap([]config{c}), r.Topic())
	return err
}

func deleteRecords(r *h.Run, topic string, before int64) (int64, error) {
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, before, -1)
	answer, err := h.Got(admin(r).DeleteRecords(r.Ctx, offsets)).On(topic, 0, nil)
	h.Must(err)
	return answer.LowWatermark, answer.Err
}

func describeCluster(r *h.Run) {
	found := h.Got(admin(r).Metadata(r.Ctx))
	h.That(found.Cluster != "", "no cluster id")
	port := h.Got(strconv.Atoi(r.Bootstrap[strings.LastIndex(r.Bootstrap, ":")+1:]))
	ours := false
	for _, broker := range found.Brokers {
		ours = ours || broker.Port == int32(port)
	}
	h.That(ours, "our broker is not in %v", found.Brokers)
	h.That(found.Brokers.NodeIDs() != nil && found.Controller >= 0, "no controller")
	_, err := admin(r).CreateTopic(r.Ctx, 1, 1, nil, createTopic(r, 1))
	h.Fails(err, kerr.TopicAlreadyExists)
}
