package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	h "tidemill/tests/clients/goharness"
)

func allowAutoCreate() []kgo.Opt { return []kgo.Opt{kgo.AllowAutoTopicCreation()} }

func registerSeeking() {
	h.Case("seek.offset", func(r *h.Run) {
		topic := filled(r, 20)
		client := reader(r, topic, 1, start())
		take(r, client, 20)
		seek(client, topic, 13)
		h.Equal(at(take(r, client, 7)), span(13, 20), "records")
	})
	h.Case("seek.beginning_end", func(r *h.Run) {
		topic := filled(r, 5)
		client := reader(r, topic, 1, start())
		take(r, client, 5)
		seek(client, topic, 0)
		h.Equal(at(take(r, client, 5)), span(0, 5), "from the beginning")
		seek(client, topic, ends(r, topic)[1])
		send(r, producer(r), text(topic, "later"))
		h.Equal(at(take(r, client, 1)), []string{"5=later"}, "from the end")
	})
	h.Case("seek.timestamp", func(r *h.Run) {
		topic, base := createTopic(r, 1), time.Now().Add(-100*time.Second).Truncate(time.Millisecond)
		records := numbered(topic, 0, 10)
		for i, record := range records {
			record.Timestamp = base.Add(time.Duration(i) * time.Second)
		}
		send(r, producer(r), records...)
		from := kgo.NewOffset().AfterMilli(base.UnixMilli() + 5500)
		got := take(r, reader(r, topic, 1, from), 4)
		h.Equal(at(got), span(6, 10), "records")
		h.Equal(got[0].Timestamp.UnixMilli()-base.UnixMilli(), int64(6000), "timestamp")
	})
	h.Case("seek.middle_of_batch", func(r *h.Run) {
		topic := createTopic(r, 1)
		client := producer(r, kgo.ProducerBatchCompression(kgo.GzipCompression()), kgo.ProducerLinger(time.Second))
		send(r, client, numbered(topic, 0, 100)...)
		h.Equal(at(take(r, reader(r, topic, 1, kgo.NewOffset().At(57)), 43)), span(57, 100), "records")
	})
	h.Case("flow.pause_resume", pauseResume)
	h.Case("flow.long_poll", longPoll)
	h.Case("flow.quiet_fetch_waits", quietFetchWaits)
	h.Case("lag.lag", func(r *h.Run) {
		topic, group := createTopic(r, 2), r.Group()
		send(r, producer(r), append(numbered(topic, 0, 10), numbered(topic, 1, 4)...)...)
		commit(r, group, topic, map[int32]int64{0: 3, 1: 4})
		lag := h.Got(admin(r).Lag(r.Ctx, group))[group]
		h.Must(lag.Error())
		found := map[int32]int64{}
		for partition, one := range lag.Lag[topic] {
			found[partition] = one.Lag
		}
		h.Equal(found, map[int32]int64{0: 7, 1: 0}, "lag")
	})
	h.Case("errors.unknown_topic", func(r *h.Run) {
		topic := r.Topic()
		client := producer(r, kgo.UnknownTopicRetries(1))
		h.Fails(client.ProduceSync(r.Ctx, text(topic, "x")).FirstErr(), kerr.UnknownTopicOrPartition)
		listing := h.Got(admin(r).ListEndOffsets(r.Ctx, topic))
		h.Fails(listing.Error(), kerr.UnknownTopicOrPartition)
		h.That(!listed(r, topic), "created")
	})
	h.Case("errors.invalid_topic_name", func(r *h.Run) {
		result := producer(r, kgo.AllowAutoTopicCreation()).ProduceSync(r.Ctx, text("not a name", "x"))
		h.Fails(result.FirstErr(), kerr.InvalidTopicException)
	})
}

func seek(client *kgo.Client, topic string, offset int64) {
	client.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: -1, Offset: offset}}})
}

func pauseResume(r *h.Run) {
	topic := createTopic(r, 2)
	client, sender := reader(r, topic, 2, start()), producer(r)
	both := func() []*kgo.Record { return append(numbered(topic, 0, 1), numbered(topic, 1, 1)...) }
	send(r, sender, both()...)
	take(r, client, 2)
	client.PauseFetchPartitions(map[string][]int32{topic: {0}})
	send(r, sender, both()...)
	h.Equal(take(r, client, 1)[0].Partition, int32(1), "partition while the other is paused")
	nothing(r, client, 600*time.Millisecond)
	client.ResumeFetchPartitions(map[string][]int32{topic: {0}})
	got := take(r, client, 1)
	h.Equal(fmt.Sprint(got[0].Partition, at(got)), "0 [1=0]", "resumed")
}

func longPoll(r *h.Run) {
	topic := createTopic(r, 1)
	client, sender := reader(r, topic, 1, start(), kgo.FetchMaxWait(20*time.Second)), producer(r)
	send(r, sender, text(topic, "warm"))
	take(r, client, 1)
	for i := 1; i <= 3; i++ {
		nothing(r, client, 400*time.Millisecond)
		began := time.Now()
		send(r, sender, text(topic, "late"))
		h.Equal(at(take(r, client, 1)), []string{fmt.Sprintf("%d=late", i)}, "record")
		h.That(time.Since(began) < 5*time.Second, "a record took %v of a fetch wait of 20 s", time.Since(began))
	}
}

// fetchCounter counts the Fetch requests that a client writes.
type fetchCounter struct{ count atomic.Int64 }

func (c *fetchCounter) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key == 1 {
		c.count.Add(1)
	}
}

func quietFetchWaits(r *h.Run) {
	topic, counter := filled(r, 1), &fetchCounter{}
	client := reader(r, topic, 1, start(), kgo.FetchMaxWait(500*time.Millisecond), kgo.WithHooks(counter))
	take(r, client, 1)
	before := counter.count.Load()
	nothing(r, client, 3*time.Second)
	fetches := counter.count.Load() - before
	h.That(fetches >= 2 && fetches <= 14, "%d fetches of an empty topic in 3 s with a wait of 500 ms", fetches)
}
