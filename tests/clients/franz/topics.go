package main

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	h "tidemill/tests/clients/goharness"
)

func registerTopics() {
	h.Case("topics.create_describe_list", createDescribeList)
	h.Case("topics.create_existing", func(r *h.Run) {
		_, err := admin(r).CreateTopic(r.Ctx, 1, 1, nil, createTopic(r, 1))
		h.Fails(err, kerr.TopicAlreadyExists)
	})
	h.Case("topics.create_invalid_name", func(r *h.Run) {
		for _, name := range []string{"not a name", "..", strings.Repeat("x", 250)} {
			_, err := admin(r).CreateTopic(r.Ctx, 1, 1, nil, name)
			h.Fails(err, kerr.InvalidTopicException)
			h.That(!listed(r, name), "created")
		}
	})
	h.Case("topics.create_zero_partitions", func(r *h.Run) {
		_, err := admin(r).CreateTopic(r.Ctx, 0, 1, nil, r.Topic())
		h.Fails(err, kerr.InvalidPartitions)
	})
	h.Case("topics.create_with_configs", func(r *h.Run) {
		topic := createTopic(r, 1, config{"retention.ms", "123456"}, config{"max.message.bytes", "77777"})
		h.Equal(shown(r, topic, "retention.ms", "max.message.bytes"), []string{"123456", "77777"}, "configs")
	})
	h.Case("topics.validate_only", func(r *h.Run) {
		topic := r.Topic()
		h.Must(h.Got(admin(r).ValidateCreateTopics(r.Ctx, 1, 1, nil, topic))[topic].Err)
		h.That(!listed(r, topic), "created")
		existing := createTopic(r, 1)
		h.Fails(h.Got(admin(r).ValidateCreateTopics(r.Ctx, 1, 1, nil, existing))[existing].Err, kerr.TopicAlreadyExists)
	})
	h.Case("topics.delete", func(r *h.Run) {
		topic := createTopic(r, 1)
		h.That(listed(r, topic), "not listed")
		h.Got(admin(r).DeleteTopic(r.Ctx, topic))
		h.Eventually(func() bool { return !listed(r, topic) }, 15, "gone")
	})
	h.Case("topics.delete_unknown", func(r *h.Run) {
		_, err := admin(r).DeleteTopic(r.Ctx, r.Topic())
		h.Fails(err, kerr.UnknownTopicOrPartition)
	})
	h.Case("topics.recreate_is_empty", func(r *h.Run) {
		topic := createTopic(r, 1)
		send(r, producer(r), text(topic, "old"))
		h.Got(admin(r).DeleteTopic(r.Ctx, topic))
		h.Eventually(func() bool { return !listed(r, topic) }, 15, "gone")
		createTopicNamed(r, topic, 1)
		h.Equal(at(send(r, producer(r), text(topic, "new"))), []string{"0=new"}, "placed")
		h.Equal(at(read(r, topic, 1, 1)), []string{"0=new"}, "records")
	})
	h.Case("topics.grow_partitions", growPartitions)
	h.Case("topics.shrink_partitions_refused", func(r *h.Run) {
		topic := createTopic(r, 3)
		h.Fails(h.Got(admin(r).UpdatePartitions(r.Ctx, 2, topic))[topic].Err, kerr.InvalidPartitions)
		h.Equal(readyPartitions(r, admin(r), topic), 3, "partitions")
	})
	h.Case("topics.auto_create", autoCreate)
	h.Case("topics.describe_unknown", func(r *h.Run) {
		topic := r.Topic()
		h.Fails(h.Got(admin(r).ListTopics(r.Ctx, topic))[topic].Err, kerr.UnknownTopicOrPartition)
		h.That(!listed(r, topic), "created")
	})
}

func listed(r *h.Run, topic string) bool {
	return h.Got(admin(r).ListTopics(r.Ctx)).Has(topic)
}

func createDescribeList(r *h.Run) {
	topic := createTopic(r, 3)
	described := h.Got(admin(r).ListTopics(r.Ctx, topic))[topic]
	h.Must(described.Err)
	h.That(described.ID != kadm.TopicID{}, "no topic id")
	h.Equal(described.Partitions.Numbers(), []int32{0, 1, 2}, "partitions")
	for _, partition := range described.Partitions {
		h.That(partition.Leader >= 0 && len(partition.Replicas) > 0, "no leader for %d", partition.Partition)
	}
	h.That(listed(r, topic), "not listed")
}

func growPartitions(r *h.Run) {
	topic := createTopic(r, 1)
	send(r, producer(r), text(topic, "first"))
	h.Must(h.Got(admin(r).UpdatePartitions(r.Ctx, 4, topic)).Error())
	h.Eventually(func() bool { return readyPartitions(r, admin(r), topic) == 4 }, 15, "four partitions")
	record := text(topic, "second")
	record.Partition = 3
	send(r, producer(r), record)
	found := map[int32]string{}
	for _, record := range read(r, topic, 2, 4) {
		found[record.Partition] = string(record.Value)
	}
	h.Equal(found, map[int32]string{0: "first", 3: "second"}, "records")
}

func autoCreate(r *h.Run) {
	topic := r.Topic()
	client := newClient(r, allowAutoCreate()...)
	h.Equal(at(send(r, client, text(topic, "made"))), []string{"0=made"}, "placed")
	h.That(listed(r, topic), "not listed")
	h.Equal(at(read(r, topic, 1, 1)), []string{"0=made"}, "records")
}
