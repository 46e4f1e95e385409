package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	h "tidemill/tests/clients/goharness"
)

func registerPlaces() {
	h.Case("partitions.chosen_partition", func(r *h.Run) {
		topic := createTopic(r, 4)
		send(r, producer(r), &kgo.Record{Topic: topic, Partition: 2, Value: []byte("here")})
		got := read(r, topic, 1, 4)
		h.Equal(got[0].Partition, int32(2), "partition")
		h.Equal(at(got), []string{"0=here"}, "record")
	})
	h.Case("partitions.order_per_partition", orderPerPartition)
	h.Case("partitions.same_key_same_partition", sameKeySamePartition)
	h.Case("partitions.many", manyPartitions)
	h.Case("partitions.unknown_partition", unknownPartition)
	h.Case("offsets.in_sequence", func(r *h.Run) {
		topic := createTopic(r, 1)
		h.Equal(at(send(r, producer(r), numbered(topic, 0, 100)...)), span(0, 100), "acknowledged")
		h.Equal(at(read(r, topic, 100, 1)), span(0, 100), "records")
	})
	h.Case("offsets.watermarks", func(r *h.Run) {
		topic := createTopic(r, 1)
		h.Equal(ends(r, topic), [2]int64{0, 0}, "empty")
		send(r, producer(r), numbered(topic, 0, 7)...)
		h.Equal(ends(r, topic), [2]int64{0, 7}, "after 7")
	})
	h.Case("offsets.reset_earliest", func(r *h.Run) {
		topic := filled(r, 5)
		h.Equal(at(take(r, groupReader(r, r.Group(), topic), 5)), span(0, 5), "records")
	})
	h.Case("offsets.reset_latest", resetLatest)
	h.Case("offsets.reset_none", func(r *h.Run) {
		topic, group := filled(r, 1), r.Group()
		none := kgo.ConsumeStartOffset(kgo.NewOffset().AtCommitted())
		client := groupReader(r, group, topic, none)
		_, err := tryTake(r, client, 1, 15*time.Second)
		h.That(err != nil && !errors.Is(err, context.DeadlineExceeded), "got %v, expected an error about the offset", err)
		client.Close()
		commit(r, group, topic, map[int32]int64{0: 0})
		h.Equal(at(take(r, groupReader(r, group, topic, none), 1)), span(0, 1), "records once an offset is committed")
	})
	h.Case("offsets.out_of_range", func(r *h.Run) {
		topic := filled(r, 3)
		failing := reader(r, topic, 1, kgo.NewOffset().At(1000), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
		_, err := tryTake(r, failing, 1, 15*time.Second)
		h.Fails(err, kerr.OffsetOutOfRange)
		resetting := reader(r, topic, 1, kgo.NewOffset().At(1000), kgo.ConsumeResetOffset(start()))
		h.Equal(at(take(r, resetting, 3)), span(0, 3), "after the reset")
	})
	h.Case("offsets.commit_and_resume", commitAndResume)
	h.Case("offsets.commit_metadata", func(r *h.Run) {
		topic, group := createTopic(r, 1), r.Group()
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: topic, At: 42, LeaderEpoch: -1, Metadata: "why: заметка"})
		h.Must(admin(r).CommitAllOffsets(r.Ctx, group, offsets))
		got, _ := h.Got(admin(r).FetchOffsets(r.Ctx, group)).Lookup(topic, 0)
		h.Equal(fmt.Sprint(got.At, got.Metadata), fmt.Sprint(42, "why: заметка"), "committed")
	})
	h.Case("offsets.committed_none", func(r *h.Run) {
		topic, group := createTopic(r, 2), r.Group()
		commit(r, group, topic, map[int32]int64{1: 5})
		got := h.Got(admin(r).FetchOffsetsForTopics(r.Ctx, group, topic))
		h.Equal([]int64{got[topic][0].At, got[topic][1].At}, []int64{-1, 5}, "committed")
	})
	h.Case("offsets.auto_commit", func(r *h.Run) {
		topic, group := filled(r, 6), r.Group()
		client := newClient(r, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.FetchMaxWait(200*time.Millisecond),
			kgo.ConsumeResetOffset(start()), kgo.AutoCommitInterval(time.Minute))
		take(r, client, 6)
		nothing(r, client, 100*time.Millisecond)
		client.Close()
		h.Equal(committed(r, group, topic), map[int32]int64{0: 6}, "committed")
	})
	registerSeeking()
}

// ends are the earliest and the latest offset of partition 0.
func ends(r *h.Run, topic string) [2]int64 {
	first, _ := h.Got(admin(r).ListStartOffsets(r.Ctx, topic)).Lookup(topic, 0)
	last, _ := h.Got(admin(r).ListEndOffsets(r.Ctx, topic)).Lookup(topic, 0)
	h.Must(first.Err)
	h.Must(last.Err)
	return [2]int64{first.Offset, last.Offset}
}

func filled(r *h.Run, count int) string {
	topic := createTopic(r, 1)
	send(r, producer(r), numbered(topic, 0, count)...)
	return topic
}

func groupReader(r *h.Run, group, topic string, options ...kgo.Opt) *kgo.Client {
	defaults := []kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.FetchMaxWait(200 * time.Millisecond), kgo.ConsumeResetOffset(start()),
	}
	return newClient(r, append(defaults, options...)...)
}

// commit stores offsets as no member of the group.
func commit(r *h.Run, group, topic string, offsets map[int32]int64) {
	wanted := kadm.Offsets{}
	for partition, offset := range offsets {
		wanted.AddOffset(topic, partition, offset, -1)
	}
	h.Must(admin(r).CommitAllOffsets(r.Ctx, group, wanted))
}

func committed(r *h.Run, group, topic string) map[int32]int64 {
	found := map[int32]int64{}
	h.Got(admin(r).FetchOffsets(r.Ctx, group)).Each(func(o kadm.OffsetResponse) {
		h.Must(o.Err)
		if o.Topic == topic {
			found[o.Partition] = o.At
		}
	})
	return found
}

func orderPerPartition(r *h.Run) {
	topic := createTopic(r, 4)
	var records []*kgo.Record
	for i := range 1000 {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % 4), Value: fmt.Append(nil, i)})
	}
	send(r, producer(r), records...)
	found, expected := map[int32][]string{}, map[int32][]string{}
	for i := range 1000 {
		expected[int32(i%4)] = append(expected[int32(i%4)], fmt.Sprintf("%d=%d", i/4, i))
	}
	for _, record := range read(r, topic, 1000, 4) {
		found[record.Partition] = append(found[record.Partition], at([]*kgo.Record{record})...)
	}
	h.Equal(found, expected, "records by partition")
}

func sameKeySamePartition(r *h.Run) {
	topic := createTopic(r, 4)
	var records []*kgo.Record
	for i := range 100 {
		records = append(records, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", i%10), Value: []byte("v")})
	}
	send(r, newClient(r), records...)
	homes, all := map[string]map[int32]bool{}, map[int32]bool{}
	for _, record := range read(r, topic, 100, 4) {
		if homes[string(record.Key)] == nil {
			homes[string(record.Key)] = map[int32]bool{}
		}
		homes[string(record.Key)][record.Partition] = true
		all[record.Partition] = true
	}
	h.Equal(len(homes), 10, "keys")
	for key, home := range homes {
		h.That(len(home) == 1, "key %s in %v", key, home)
	}
	h.That(len(all) > 1, "all keys in one partition")
}

func manyPartitions(r *h.Run) {
	topic := createTopic(r, 64)
	var records []*kgo.Record
	for partition := range int32(64) {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Append(nil, partition)})
	}
	send(r, producer(r), records...)
	var seen []int
	for _, record := range read(r, topic, 64, 64) {
		h.Equal(string(record.Value), fmt.Sprint(record.Partition), "value")
		seen = append(seen, int(record.Partition))
	}
	slices.Sort(seen)
	h.Equal(len(slices.Compact(seen)), 64, "partitions")
}

func unknownPartition(r *h.Run) {
	topic := createTopic(r, 2)
	send(r, producer(r), &kgo.Record{Topic: topic, Partition: 1, Value: []byte("known")})
	result := producer(r).ProduceSync(r.Ctx, &kgo.Record{Topic: topic, Partition: 7, Value: []byte("x")})
	h.That(result.FirstErr() != nil, "no error for partition 7")
	h.Equal(at(read(r, topic, 1, 2)), []string{"0=known"}, "records")
}

func resetLatest(r *h.Run) {
	topic := filled(r, 1)
	client := reader(r, topic, 1, kgo.NewOffset().AtEnd())
	nothing(r, client, 800*time.Millisecond)
	send(r, producer(r), text(topic, "after"))
	h.Equal(at(take(r, client, 1)), []string{"1=after"}, "records")
}

func commitAndResume(r *h.Run) {
	topic, group := filled(r, 10), r.Group()
	first := groupReader(r, group, topic)
	got := take(r, first, 10)
	h.Must(first.CommitRecords(r.Ctx, got[:4]...))
	first.Close()
	h.Equal(committed(r, group, topic), map[int32]int64{0: 4}, "committed")
	h.Equal(at(take(r, groupReader(r, group, topic), 6)), span(4, 10), "second reads")
}
