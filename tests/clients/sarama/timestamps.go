package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/IBM/sarama"

	h "tidemill/tests/clients/goharness"
)

var unsorted = []int{10, 50, 20, 40, 30}

func registerTimestamps() {
	h.Case("timestamps.create_time", func(r *h.Run) {
		topic := createTopic(r, 1, config{"retention.ms", "-1"}) // The record is old enough to be deleted otherwise.
		message := text(topic, "x")
		message.Timestamp = time.UnixMilli(1_600_000_000_123)
		send(producer(r), message)
		h.Equal(read(r, topic, 0, 1)[0].Timestamp.UnixMilli(), int64(1_600_000_000_123), "timestamp")
	})
	h.Case("timestamps.unsorted", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		write(r, topic, base, unsorted)
		lookups(r, topic, base, "0:0@10 10:0@10 11:1@50 25:1@50 45:1@50 50:1@50 51:none")
	})
	h.Case("timestamps.inside_compressed_batch", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		write(r, topic, base, steps(50, 10), codec("gzip"), lingering)
		write(r, topic, base, []int{1010, 1050, 1020, 1040, 1030}, codec("lz4"), lingering)
		lookups(r, topic, base, "0:0@0 1:1@10 250:25@250 255:26@260 490:49@490 491:50@1010 1011:51@1050 1051:none")
	})
	h.Case("timestamps.across_batches", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		write(r, topic, base, steps(100, 100))
		lookups(r, topic, base, "50:1@100 3250:33@3300 4950:50@5000 9750:98@9800 9850:99@9900 9901:none")
	})
	h.Case("timestamps.across_files", func(r *h.Run) {
		topic, base, client := createTopic(r, 1), anHourAgo(), producer(r)
		var expected []string
		for i := range 45 {
			send(client, &sarama.ProducerMessage{
				Topic: topic, Value: sarama.ByteEncoder(large(400_000, 31)), Timestamp: base.Add(time.Duration(i) * time.Second),
			})
			if i > 0 {
				expected = append(expected, fmt.Sprintf("%d:%d@%d", i*1000-1, i, i*1000))
			}
		}
		lookups(r, topic, base, strings.Join(expected, " ")+" 44001:none")
	})
	h.Case("timestamps.beyond_end", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		write(r, topic, base, []int{0, 5})
		lookups(r, topic, base, "5:1@5 6:none 10000000:none")
	})
	h.Case("timestamps.log_append_time", func(r *h.Run) {
		topic := createTopic(r, 1, config{"message.timestamp.type", "LogAppendTime"})
		message := text(topic, "x")
		message.Timestamp = time.UnixMilli(1_600_000_000_000)
		send(producer(r), message)
		got := read(r, topic, 0, 1)[0]
		h.That(time.Since(got.Timestamp).Abs() < 10*time.Second, "timestamp %v", got.Timestamp)
	})
}

func anHourAgo() time.Time { return time.Now().Add(-time.Hour).Truncate(time.Millisecond) }

func steps(count, step int) []int {
	var found []int
	for i := range count {
		found = append(found, i*step)
	}
	return found
}

// write sends one batch each, or all in one if the producer lingers.
func write(r *h.Run, topic string, base time.Time, stamps []int, changes ...func(*sarama.Config)) {
	client := producer(r, changes...)
	var messages []*sarama.ProducerMessage
	for _, stamp := range stamps {
		message := text(topic, fmt.Sprint(stamp))
		message.Timestamp = base.Add(time.Duration(stamp) * time.Millisecond)
		messages = append(messages, message)
	}
	if len(changes) > 0 {
		send(client, messages...)
		return
	}
	for _, message := range messages {
		send(client, message)
	}
}

// lookups expects "after:offset@timestamp" or "after:none" for each, all times relative to base.
func lookups(r *h.Run, topic string, base time.Time, expected string) {
	client := admin(r)
	var found []string
	for one := range strings.FieldsSeq(expected) {
		var after int64
		h.Got(fmt.Sscanf(one, "%d:", &after))
		query := map[string]map[int32]int64{topic: {0: base.UnixMilli() + after}}
		hit := h.Got(client.ListOffsets(query, nil))[topic][0]
		h.That(hit != nil, "no answer for %d", after)
		h.That(hit.Err == nil || errors.Is(hit.Err, sarama.ErrNoError), "error: %v", hit.Err)
		if hit.Offset == -1 {
			found = append(found, fmt.Sprintf("%d:none", after))
		} else {
			found = append(found, fmt.Sprintf("%d:%d@%d", after, hit.Offset, hit.Timestamp-base.UnixMilli()))
		}
	}
	h.Equal(strings.Join(found, " "), expected, "lookups")
}
