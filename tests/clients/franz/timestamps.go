package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	h "tidemill/tests/clients/goharness"
)

var unsorted = []int{10, 50, 20, 40, 30}

func registerTimestamps() {
	h.Case("timestamps.create_time", func(r *h.Run) {
		topic := createTopic(r, 1, config{"retention.ms", "-1"}) // The record is old enough to be deleted otherwise.
		send(r, producer(r), &kgo.Record{Topic: topic, Value: []byte("x"), Timestamp: time.UnixMilli(1_600_000_000_123)})
		got := read(r, topic, 1, 1)[0]
		h.Equal(got.Timestamp.UnixMilli(), int64(1_600_000_000_123), "timestamp")
		h.Equal(got.Attrs.TimestampType(), int8(0), "type")
	})
	h.Case("timestamps.unsorted", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		write(r, topic, base, false, unsorted)
		lookups(r, topic, base, 5, "0:0@10 10:0@10 11:1@50 25:1@50 45:1@50 50:1@50 51:end")
	})
	h.Case("timestamps.inside_compressed_batch", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		write(r, topic, base, true, steps(50, 10), kgo.ProducerBatchCompression(kgo.GzipCompression()))
		late := []int{1010, 1050, 1020, 1040, 1030}
		write(r, topic, base, true, late, kgo.ProducerBatchCompression(kgo.Lz4Compression()))
		lookups(r, topic, base, 55, "0:0@0 1:1@10 250:25@250 255:26@260 490:49@490 491:50@1010 1011:51@1050 1051:end")
	})
	h.Case("timestamps.across_batches", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		write(r, topic, base, false, steps(100, 100))
		lookups(r, topic, base, 100, "50:1@100 3250:33@3300 4950:50@5000 9750:98@9800 9850:99@9900 9901:end")
	})
	h.Case("timestamps.across_files", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		client := producer(r, kgo.ProducerBatchCompression(kgo.NoCompression()))
		var expected []string
		for i := range 45 {
			record := &kgo.Record{Topic: topic, Value: large(400_000, 31), Timestamp: base.Add(time.Duration(i) * time.Second)}
			send(r, client, record)
			if i > 0 {
				expected = append(expected, fmt.Sprintf("%d:%d@%d", i*1000-1, i, i*1000))
			}
		}
		lookups(r, topic, base, 45, strings.Join(expected, " ")+" 44001:end")
	})
	h.Case("timestamps.beyond_end", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		write(r, topic, base, false, []int{0, 5})
		lookups(r, topic, base, 2, "5:1@5 6:end 10000000:end")
	})
	h.Case("timestamps.max_timestamp", func(r *h.Run) {
		topic, base := createTopic(r, 1), anHourAgo()
		write(r, topic, base, false, unsorted)
		found, _ := h.Got(admin(r).ListMaxTimestampOffsets(r.Ctx, topic)).Lookup(topic, 0)
		h.Must(found.Err)
		h.Equal([]int64{found.Offset, found.Timestamp - base.UnixMilli()}, []int64{1, 50}, "largest timestamp")
	})
	h.Case("timestamps.log_append_time", func(r *h.Run) {
		topic := createTopic(r, 1, config{"message.timestamp.type", "LogAppendTime"})
		send(r, producer(r), &kgo.Record{Topic: topic, Value: []byte("x"), Timestamp: time.UnixMilli(1_600_000_000_000)})
		got := read(r, topic, 1, 1)[0]
		h.Equal(got.Attrs.TimestampType(), int8(1), "type")
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

// write sends one batch for all timestamps, or one for each.
func write(r *h.Run, topic string, base time.Time, together bool, stamps []int, options ...kgo.Opt) {
	var records []*kgo.Record
	for _, stamp := range stamps {
		at := base.Add(time.Duration(stamp) * time.Millisecond)
		records = append(records, &kgo.Record{Topic: topic, Value: fmt.Append(nil, stamp), Timestamp: at})
	}
	if together {
		send(r, producer(r, append(options, kgo.ProducerLinger(time.Second))...), records...)
		return
	}
	client := producer(r, options...)
	for _, record := range records {
		send(r, client, record)
	}
}

// lookups expects "after:offset@timestamp" or "after:end" for each, all times relative to base.
func lookups(r *h.Run, topic string, base time.Time, end int64, expected string) {
	client := admin(r)
	var found []string
	for one := range strings.FieldsSeq(expected) {
		var after int64
		h.Got(fmt.Sscanf(one, "%d:", &after))
		hit, ok := h.Got(client.ListOffsetsAfterMilli(r.Ctx, base.UnixMilli()+after, topic)).Lookup(topic, 0)
		h.That(ok && hit.Err == nil, "no answer for %d: %v", after, hit.Err)
		if hit.Timestamp == -1 && hit.Offset == end {
			found = append(found, fmt.Sprintf("%d:end", after))
		} else {
			found = append(found, fmt.Sprintf("%d:%d@%d", after, hit.Offset, hit.Timestamp-base.UnixMilli()))
		}
	}
	h.Equal(strings.Join(found, " "), expected, "lookups")
}
