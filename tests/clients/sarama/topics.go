package main

import (
	"strings"

	"github.com/IBM/sarama"

	h "tidemill/tests/clients/goharness"
)

func registerTopics() {
	h.Case("topics.create_describe_list", func(r *h.Run) {
		topic := createTopic(r, 3)
		described := describe(admin(r), topic)
		h.Equal(described.Err, sarama.ErrNoError, "error")
		h.That(described.Uuid != sarama.Uuid{}, "no topic id")
		seen := map[int32]bool{}
		for _, partition := range described.Partitions {
			h.That(partition.Leader >= 0, "no leader of %d", partition.ID)
			seen[partition.ID] = true
		}
		h.Equal(seen, map[int32]bool{0: true, 1: true, 2: true}, "partitions")
		h.That(listed(r, topic), "not listed")
	})
	h.Case("topics.create_existing", func(r *h.Run) {
		h.Fails(admin(r).CreateTopic(createTopic(r, 1), detail(1), false), sarama.ErrTopicAlreadyExists)
	})
	h.Case("topics.create_invalid_name", func(r *h.Run) {
		for _, name := range []string{"not a name", "..", strings.Repeat("x", 250)} {
			h.Fails(admin(r).CreateTopic(name, detail(1), false), sarama.ErrInvalidTopic)
			h.That(!listed(r, name), "created")
		}
	})
	h.Case("topics.create_zero_partitions", func(r *h.Run) {
		h.Fails(admin(r).CreateTopic(r.Topic(), detail(0), false), sarama.ErrInvalidPartitions)
	})
	h.Case("topics.create_with_configs", func(r *h.Run) {
		topic := createTopic(r, 1, config{"retention.ms", "123456"}, config{"max.message.bytes", "77777"})
		h.Equal(shown(r, topic, "retention.ms", "max.message.bytes"), []string{"123456", "77777"}, "configs")
	})
	h.Case("topics.validate_only", func(r *h.Run) {
		topic := r.Topic()
		h.Must(admin(r).CreateTopic(topic, detail(1), true))
		h.That(!listed(r, topic), "created")
		h.Fails(admin(r).CreateTopic(createTopic(r, 1), detail(1), true), sarama.ErrTopicAlreadyExists)
	})
	h.Case("topics.delete", func(r *h.Run) {
		topic := createTopic(r, 1)
		h.That(listed(r, topic), "not listed")
		deleteTopic(r, topic)
	})
	h.Case("topics.delete_unknown", func(r *h.Run) {
		h.Fails(admin(r).DeleteTopic(r.Topic()), sarama.ErrUnknownTopicOrPartition)
	})
	h.Case("topics.recreate_is_empty", func(r *h.Run) {
		topic := createTopic(r, 1)
		send(producer(r), text(topic, "old"))
		deleteTopic(r, topic)
		createTopicNamed(r, topic, 1)
		h.Equal(placed(send(producer(r), text(topic, "new"))), []int64{0}, "placed")
		h.Equal(at(read(r, topic, 0, 1)), []string{"0=new"}, "records")
	})
	h.Case("topics.grow_partitions", func(r *h.Run) {
		topic := createTopic(r, 1)
		send(producer(r), text(topic, "first"))
		h.Must(admin(r).CreatePartitions(topic, 4, nil, false))
		h.Eventually(func() bool { return readyPartitions(admin(r), topic) == 4 }, 15, "four partitions")
		message := text(topic, "second")
		message.Partition = 3
		send(producer(r), message)
		h.Equal(at(read(r, topic, 0, 1)), []string{"0=first"}, "partition 0")
		h.Equal(at(read(r, topic, 3, 1)), []string{"0=second"}, "partition 3")
	})
	h.Case("topics.shrink_partitions_refused", func(r *h.Run) {
		topic := createTopic(r, 3)
		h.Fails(admin(r).CreatePartitions(topic, 2, nil, false), sarama.ErrInvalidPartitions)
		h.Equal(readyPartitions(admin(r), topic), 3, "partitions")
	})
	h.Case("topics.auto_create", func(r *h.Run) {
		topic := r.Topic()
		h.Equal(placed(send(producer(r), text(topic, "made"))), []int64{0}, "placed")
		h.That(listed(r, topic), "not listed")
		h.Equal(at(read(r, topic, 0, 1)), []string{"0=made"}, "records")
	})
	h.Case("topics.describe_unknown", func(r *h.Run) {
		topic := r.Topic()
		h.Equal(describe(admin(r), topic).Err, sarama.ErrUnknownTopicOrPartition, "error")
		h.That(!listed(r, topic), "created")
	})
}

func listed(r *h.Run, topic string) bool {
	_, found := h.Got(admin(r).ListTopics())[topic]
	return found
}

func deleteTopic(r *h.Run, topic string) {
	h.Must(admin(r).DeleteTopic(topic))
	h.Eventually(func() bool { return !listed(r, topic) }, 15, "gone")
}
