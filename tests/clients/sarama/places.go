package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
	"github.com/rcrowley/go-metrics"

	h "tidemill/tests/clients/goharness"
)

func registerPlaces() {
	h.Case("partitions.chosen_partition", func(r *h.Run) {
		topic := createTopic(r, 4)
		message := text(topic, "here")
		message.Partition = 2
		send(producer(r), message)
		for partition, expected := range []int{0, 0, 1, 0} {
			h.Equal(len(read(r, topic, int32(partition), expected)), expected, "records")
		}
	})
	h.Case("partitions.order_per_partition", orderPerPartition)
	h.Case("partitions.same_key_same_partition", sameKeySamePartition)
	h.Case("partitions.many", manyPartitions)
	h.Case("partitions.unknown_partition", func(r *h.Run) {
		topic := createTopic(r, 2)
		known := text(topic, "known")
		known.Partition = 1
		send(producer(r), known)
		unknown := text(topic, "x")
		unknown.Partition = 7
		_, _, err := producer(r).SendMessage(unknown)
		h.Fails(err, sarama.ErrInvalidPartition)
		_, err = h.Got(sarama.NewConsumerFromClient(newClient(r))).ConsumePartition(topic, 7, sarama.OffsetOldest)
		h.Fails(err, sarama.ErrUnknownTopicOrPartition)
		h.Equal(at(read(r, topic, 1, 1)), []string{"0=known"}, "records")
	})
	h.Case("offsets.in_sequence", func(r *h.Run) {
		topic := createTopic(r, 1)
		h.Equal(placed(send(producer(r), numbered(topic, 0, 100)...)), upTo(100), "acknowledged")
		h.Equal(at(read(r, topic, 0, 100)), span(0, 100), "records")
	})
	h.Case("offsets.watermarks", func(r *h.Run) {
		topic := createTopic(r, 1)
		h.Equal(ends(r, topic), [2]int64{0, 0}, "empty")
		send(producer(r), numbered(topic, 0, 7)...)
		h.Equal(ends(r, topic), [2]int64{0, 7}, "after 7")
	})
	h.Case("offsets.reset_earliest", func(r *h.Run) {
		topic := filled(r, 5)
		m := join(r, r.Group(), []string{topic})
		settle(func() bool { return len(m.records()) == 5 }, "all records")
		h.Equal(at(m.records()), span(0, 5), "records")
	})
	h.Case("offsets.reset_latest", func(r *h.Run) {
		topic := filled(r, 1)
		m := join(r, r.Group(), []string{topic}, func(c *sarama.Config) { c.Consumer.Offsets.Initial = sarama.OffsetNewest })
		settle(func() bool { return len(m.partitions()) == 1 }, "an assignment")
		time.Sleep(500 * time.Millisecond)
		send(producer(r), text(topic, "after"))
		settle(func() bool { return len(m.records()) > 0 }, "a record")
		h.Equal(at(m.records()), []string{"1=after"}, "records")
	})
	h.Case("offsets.out_of_range", func(r *h.Run) {
		topic := filled(r, 3)
		_, err := h.Got(sarama.NewConsumerFromClient(newClient(r))).ConsumePartition(topic, 0, 1000)
		h.Fails(err, sarama.ErrOffsetOutOfRange)
		h.Equal(at(read(r, topic, 0, 3)), span(0, 3), "records")
	})
	h.Case("offsets.commit_and_resume", func(r *h.Run) {
		topic, group := filled(r, 10), r.Group()
		first := join(r, group, []string{topic}, func(c *sarama.Config) { c.Consumer.Offsets.AutoCommit.Enable = true })
		first.stopMarkingAt(4)
		settle(func() bool { return len(first.records()) == 10 }, "all records")
		first.leave()
		h.Equal(committed(r, group, topic, 0), int64(4), "committed")
		second := join(r, group, []string{topic})
		settle(func() bool { return len(second.records()) >= 6 }, "the rest")
		h.Equal(at(second.records()), span(4, 10), "second reads")
	})
	h.Case("offsets.commit_metadata", func(r *h.Run) {
		topic, group := createTopic(r, 1), r.Group()
		client := newClient(r, func(c *sarama.Config) {
			c.Consumer.Offsets.AutoCommit.Enable = true
			c.Consumer.Return.Errors = false
		})
		manager := h.Got(sarama.NewOffsetManagerFromClient(group, client))
		h.Got(manager.ManagePartition(topic, 0)).MarkOffset(42, "why: заметка")
		h.Must(manager.Close())
		again := h.Got(sarama.NewOffsetManagerFromClient(group, newClient(r)))
		offset, metadata := h.Got(again.ManagePartition(topic, 0)).NextOffset()
		h.Equal(fmt.Sprint(offset, metadata), "42why: заметка", "committed")
	})
	h.Case("offsets.committed_none", func(r *h.Run) {
		topic, group := createTopic(r, 2), r.Group()
		h.Must(commit(r, group, topic, map[int32]int64{1: 5}))
		found := []int64{committed(r, group, topic, 0), committed(r, group, topic, 1)}
		h.Equal(found, []int64{-1, 5}, "committed")
	})
	h.Case("offsets.auto_commit", func(r *h.Run) {
		topic, group := filled(r, 6), r.Group()
		m := join(r, group, []string{topic}, func(c *sarama.Config) {
			c.Consumer.Offsets.AutoCommit.Enable = true
			c.Consumer.Offsets.AutoCommit.Interval = time.Minute
		})
		settle(func() bool { return len(m.records()) == 6 }, "all records")
		m.leave()
		h.Equal(committed(r, group, topic, 0), int64(6), "committed")
	})
	registerSeeking()
}

func registerSeeking() {
	h.Case("seek.offset", func(r *h.Run) {
		topic := filled(r, 20)
		h.Equal(at(take(r, open(r, topic, 0, 13), 7)), span(13, 20), "records")
	})
	h.Case("seek.beginning_end", func(r *h.Run) {
		topic := filled(r, 5)
		h.Equal(at(take(r, open(r, topic, 0, sarama.OffsetOldest), 5)), span(0, 5), "from the beginning")
		end := open(r, topic, 0, sarama.OffsetNewest)
		nothing(end, 600*time.Millisecond)
		send(producer(r), text(topic, "later"))
		h.Equal(at(take(r, end, 1)), []string{"5=later"}, "from the end")
	})
	h.Case("seek.timestamp", func(r *h.Run) {
		topic, base := createTopic(r, 1), time.Now().Add(-100*time.Second).Truncate(time.Millisecond)
		messages := numbered(topic, 0, 10)
		for i, message := range messages {
			message.Timestamp = base.Add(time.Duration(i) * time.Second)
		}
		send(producer(r), messages...)
		offset := h.Got(newClient(r).GetOffset(topic, 0, base.UnixMilli()+5500))
		got := take(r, open(r, topic, 0, offset), 4)
		h.Equal(at(got), span(6, 10), "records")
		h.Equal(got[0].Timestamp.UnixMilli()-base.UnixMilli(), int64(6000), "timestamp")
	})
	h.Case("seek.middle_of_batch", func(r *h.Run) {
		topic := createTopic(r, 1)
		client := producer(r, codec("gzip"), lingering)
		send(client, numbered(topic, 0, 100)...)
		h.Equal(at(take(r, open(r, topic, 0, 57), 43)), span(57, 100), "records")
	})
	h.Case("flow.pause_resume", pauseResume)
	h.Case("flow.long_poll", func(r *h.Run) {
		topic, sender := createTopic(r, 1), producer(r)
		send(sender, text(topic, "warm"))
		from := open(r, topic, 0, 0, func(c *sarama.Config) { c.Consumer.MaxWaitTime = 20 * time.Second })
		take(r, from, 1)
		for i := 1; i <= 3; i++ {
			nothing(from, 400*time.Millisecond)
			began := time.Now()
			send(sender, text(topic, "late"))
			h.Equal(at(take(r, from, 1)), []string{fmt.Sprintf("%d=late", i)}, "record")
			h.That(time.Since(began) < 5*time.Second, "a record took %v of a fetch wait of 20 s", time.Since(began))
		}
	})
	h.Case("flow.quiet_fetch_waits", func(r *h.Run) {
		topic, registry := filled(r, 1), metrics.NewRegistry()
		from := open(r, topic, 0, 0, func(c *sarama.Config) {
			c.Consumer.MaxWaitTime = 500 * time.Millisecond
			c.MetricRegistry = registry
		})
		take(r, from, 1)
		before := metrics.GetOrRegisterMeter("request-rate", registry).Count()
		nothing(from, 3*time.Second)
		requests := metrics.GetOrRegisterMeter("request-rate", registry).Count() - before
		h.That(requests >= 2 && requests <= 14, "%d requests about an empty topic in 3 s with a wait of 500 ms", requests)
	})
	h.Case("lag.lag", func(r *h.Run) {
		topic, group := createTopic(r, 2), r.Group()
		send(producer(r), append(numbered(topic, 0, 10), numbered(topic, 1, 4)...)...)
		h.Must(commit(r, group, topic, map[int32]int64{0: 3, 1: 4}))
		client, found := newClient(r), map[int32]int64{}
		for partition := range int32(2) {
			end := h.Got(client.GetOffset(topic, partition, sarama.OffsetNewest))
			found[partition] = end - committed(r, group, topic, partition)
		}
		h.Equal(found, map[int32]int64{0: 7, 1: 0}, "lag")
	})
	h.Case("errors.unknown_topic", func(r *h.Run) {
		topic := r.Topic()
		client := newClient(r, func(c *sarama.Config) {
			c.Metadata.AllowAutoTopicCreation = false
			c.Metadata.Retry.Max = 1
		})
		_, err := h.Got(sarama.NewConsumerFromClient(client)).ConsumePartition(topic, 0, sarama.OffsetOldest)
		h.Fails(err, sarama.ErrUnknownTopicOrPartition)
		h.That(!listed(r, topic), "created")
	})
	h.Case("errors.invalid_topic_name", func(r *h.Run) {
		_, _, err := producer(r).SendMessage(text("not a name", "x"))
		h.Fails(err, sarama.ErrInvalidTopic)
	})
}

// lingering makes one batch of what is sent together.
func lingering(c *sarama.Config) {
	c.Producer.Flush.Frequency = 500 * time.Millisecond
	c.Producer.Flush.Messages = 100_000
}

// ends are the earliest and the latest offset of partition 0.
func ends(r *h.Run, topic string) [2]int64 {
	client := newClient(r)
	first := h.Got(client.GetOffset(topic, 0, sarama.OffsetOldest))
	return [2]int64{first, h.Got(client.GetOffset(topic, 0, sarama.OffsetNewest))}
}

// commit stores offsets as no member of the group.
func commit(r *h.Run, group, topic string, offsets map[int32]int64) error {
	wanted := map[int32]sarama.OffsetAndMetadata{}
	for partition, offset := range offsets {
		wanted[partition] = sarama.OffsetAndMetadata{Offset: offset, LeaderEpoch: -1}
	}
	all := map[string]map[int32]sarama.OffsetAndMetadata{topic: wanted}
	answer, err := admin(r).AlterConsumerGroupOffsets(group, all, nil)
	if err != nil {
		return err
	}
	for partition := range offsets {
		code, there := answer.Errors[topic][partition]
		h.That(there, "no answer for partition %d", partition)
		if !errors.Is(code, sarama.ErrNoError) {
			return code
		}
	}
	return nil
}

func committed(r *h.Run, group, topic string, partition int32) int64 {
	answer := h.Got(admin(r).ListConsumerGroupOffsets(group, map[string][]int32{topic: {partition}}))
	block := answer.GetBlock(topic, partition)
	h.That(block != nil && errors.Is(block.Err, sarama.ErrNoError), "no answer: %+v", block)
	return block.Offset
}

func orderPerPartition(r *h.Run) {
	topic := createTopic(r, 4)
	var messages []*sarama.ProducerMessage
	expected := map[int32][]string{}
	for i := range 1000 {
		message := text(topic, fmt.Sprint(i))
		message.Partition = int32(i % 4)
		messages = append(messages, message)
		expected[message.Partition] = append(expected[message.Partition], fmt.Sprintf("%d=%d", i/4, i))
	}
	send(producer(r), messages...)
	for partition, records := range expected {
		h.Equal(at(read(r, topic, partition, 250)), records, "records of a partition")
	}
}

func sameKeySamePartition(r *h.Run) {
	topic := createTopic(r, 4)
	client := producer(r, func(c *sarama.Config) { c.Producer.Partitioner = sarama.NewHashPartitioner })
	var messages []*sarama.ProducerMessage
	for i := range 100 {
		message := text(topic, "v")
		message.Key = sarama.StringEncoder(fmt.Sprintf("k%d", i%10))
		messages = append(messages, message)
	}
	counts := map[int32]int{}
	for _, message := range send(client, messages...) {
		counts[message.Partition]++
	}
	homes := map[string]int32{}
	for partition, count := range counts {
		for _, record := range read(r, topic, partition, count) {
			home, seen := homes[string(record.Key)]
			h.That(!seen || home == partition, "key %s in several partitions", record.Key)
			homes[string(record.Key)] = partition
		}
	}
	h.Equal(len(homes), 10, "keys")
	h.That(len(counts) > 1, "all keys in one partition")
}

func manyPartitions(r *h.Run) {
	topic := createTopic(r, 64)
	var messages []*sarama.ProducerMessage
	for partition := range int32(64) {
		message := text(topic, fmt.Sprint(partition))
		message.Partition = partition
		messages = append(messages, message)
	}
	send(producer(r), messages...)
	consumer := h.Got(sarama.NewConsumerFromClient(newClient(r)))
	var opened []sarama.PartitionConsumer
	for partition := range int32(64) {
		from := h.Got(consumer.ConsumePartition(topic, partition, sarama.OffsetOldest))
		r.AtEnd(from.AsyncClose)
		opened = append(opened, from)
	}
	for partition, from := range opened {
		h.Equal(at(take(r, from, 1)), []string{fmt.Sprintf("0=%d", partition)}, "record")
	}
}

func pauseResume(r *h.Run) {
	topic, sender := createTopic(r, 2), producer(r)
	consumer := h.Got(sarama.NewConsumerFromClient(newClient(r)))
	first := h.Got(consumer.ConsumePartition(topic, 0, sarama.OffsetOldest))
	second := h.Got(consumer.ConsumePartition(topic, 1, sarama.OffsetOldest))
	both := func() []*sarama.ProducerMessage { return append(numbered(topic, 0, 1), numbered(topic, 1, 1)...) }
	send(sender, both()...)
	take(r, first, 1)
	take(r, second, 1)
	first.Pause()
	time.Sleep(500 * time.Millisecond) // A fetch that is under way may still answer.
	send(sender, both()...)
	h.Equal(at(take(r, second, 1)), []string{"1=0"}, "the other")
	nothing(first, 600*time.Millisecond)
	first.Resume()
	h.Equal(at(take(r, first, 1)), []string{"1=0"}, "resumed")
}
