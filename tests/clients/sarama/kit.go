package main

import (
	"fmt"
	"time"

	"github.com/IBM/sarama"

	h "tidemill/tests/clients/goharness"
)

// settings are the suite's defaults, changed by each function given.
func settings(changes ...func(*sarama.Config)) *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V4_0_0_0
	c.Metadata.Retry.Backoff = 50 * time.Millisecond
	c.Metadata.Retry.Max = 20
	c.Admin.Timeout = 15 * time.Second
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Return.Successes = true
	c.Producer.Retry.Backoff = 20 * time.Millisecond
	c.Producer.Retry.Max = 100
	c.Consumer.MaxWaitTime = 200 * time.Millisecond
	c.Consumer.Retry.Backoff = 50 * time.Millisecond
	c.Consumer.Return.Errors = true
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	c.Consumer.Group.Session.Timeout = 6 * time.Second
	c.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	c.Consumer.Group.Rebalance.Retry.Backoff = 100 * time.Millisecond
	c.Consumer.Group.Rebalance.Retry.Max = 50
	for _, change := range changes {
		change(c)
	}
	return c
}

func newClient(r *h.Run, changes ...func(*sarama.Config)) sarama.Client {
	client := h.Got(sarama.NewClient([]string{r.Bootstrap}, settings(changes...)))
	r.AtEnd(func() { _ = client.Close() })
	return client
}

func admin(r *h.Run) sarama.ClusterAdmin {
	return h.Got(sarama.NewClusterAdminFromClient(newClient(r)))
}

// config is one topic config.
type config struct{ name, value string }

func detail(partitions int32, configs ...config) *sarama.TopicDetail {
	entries := map[string]*string{}
	for _, c := range configs {
		entries[c.name] = &c.value
	}
	return &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: entries}
}

func createTopic(r *h.Run, partitions int32, configs ...config) string {
	return createTopicNamed(r, r.Topic(), partitions, configs...)
}

func createTopicNamed(r *h.Run, name string, partitions int32, configs ...config) string {
	client := admin(r)
	h.Must(client.CreateTopic(name, detail(partitions, configs...), false))
	// A broker may answer before all of it knows the topic.
	h.Eventually(func() bool { return readyPartitions(client, name) == int(partitions) }, 15, "partitions in the metadata")
	return name
}

func readyPartitions(client sarama.ClusterAdmin, name string) int {
	ready := 0
	for _, partition := range describe(client, name).Partitions {
		if partition.Err == sarama.ErrNoError && partition.Leader >= 0 {
			ready++
		}
	}
	return ready
}

func describe(client sarama.ClusterAdmin, name string) *sarama.TopicMetadata {
	found := h.Got(client.DescribeTopics([]string{name}))
	h.Equal(len(found), 1, "topics described")
	return found[0]
}

func producer(r *h.Run, changes ...func(*sarama.Config)) sarama.SyncProducer {
	return h.Got(sarama.NewSyncProducerFromClient(newClient(r, changes...)))
}

func send(client sarama.SyncProducer, messages ...*sarama.ProducerMessage) []*sarama.ProducerMessage {
	h.Must(client.SendMessages(messages))
	return messages
}

func text(topic, value string) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)}
}

// numbered are the records "0" to "count - 1" of a partition.
func numbered(topic string, partition int32, count int) []*sarama.ProducerMessage {
	var found []*sarama.ProducerMessage
	for i := range count {
		message := text(topic, fmt.Sprint(i))
		message.Partition = partition
		found = append(found, message)
	}
	return found
}

func filled(r *h.Run, count int) string {
	topic := createTopic(r, 1)
	send(producer(r), numbered(topic, 0, count)...)
	return topic
}

// open consumes one partition from an offset.
func open(r *h.Run, topic string, partition int32, offset int64, changes ...func(*sarama.Config)) sarama.PartitionConsumer {
	consumer := h.Got(sarama.NewConsumerFromClient(newClient(r, changes...)))
	opened := h.Got(consumer.ConsumePartition(topic, partition, offset))
	r.AtEnd(func() { _ = opened.Close() })
	return opened
}

func take(r *h.Run, from sarama.PartitionConsumer, count int) []*sarama.ConsumerMessage {
	var taken []*sarama.ConsumerMessage
	limit := time.After(20 * time.Second)
	for len(taken) < count {
		select {
		case message := <-from.Messages():
			h.That(message != nil, "the consumer ended")
			taken = append(taken, message)
		case err := <-from.Errors():
			h.Must(err)
		case <-limit:
			h.That(false, "%d of %d records in 20 s", len(taken), count)
		}
	}
	return taken
}

// nothing fails if a record arrives within this time.
func nothing(from sarama.PartitionConsumer, limit time.Duration) {
	select {
	case message := <-from.Messages():
		h.That(false, "unexpected record %q at %d", message.Value, message.Offset)
	case <-time.After(limit):
	}
}

// read is all of a partition, which must be exactly count records.
func read(r *h.Run, topic string, partition int32, count int) []*sarama.ConsumerMessage {
	from := open(r, topic, partition, sarama.OffsetOldest)
	taken := take(r, from, count)
	nothing(from, 300*time.Millisecond)
	return taken
}

func values(messages []*sarama.ConsumerMessage) []string {
	var found []string
	for _, message := range messages {
		found = append(found, string(message.Value))
	}
	return found
}

// at is "offset=value" of each record.
func at(messages []*sarama.ConsumerMessage) []string {
	var found []string
	for _, message := range messages {
		found = append(found, fmt.Sprintf("%d=%s", message.Offset, message.Value))
	}
	return found
}

// placed are the acknowledged offsets.
func placed(messages []*sarama.ProducerMessage) []int64 {
	var found []int64
	for _, message := range messages {
		found = append(found, message.Offset)
	}
	return found
}

// span is "i=i" from `from` to before `to`, as numbered records give.
func span(from, to int) []string {
	var found []string
	for i := from; i < to; i++ {
		found = append(found, fmt.Sprintf("%d=%d", i, i))
	}
	return found
}

func upTo(count int64) []int64 {
	var found []int64
	for i := range count {
		found = append(found, i)
	}
	return found
}
