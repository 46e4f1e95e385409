package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	h "tidemill/tests/clients/goharness"
)

// newClient is a client that closes with its case.
func newClient(r *h.Run, options ...kgo.Opt) *kgo.Client {
	defaults := []kgo.Opt{
		kgo.SeedBrokers(r.Bootstrap),
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.DisableClientMetrics(),
	}
	client := h.Got(kgo.NewClient(append(defaults, options...)...))
	r.AtEnd(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = client.LeaveGroupContext(ctx)
		client.CloseAllowingRebalance()
	})
	return client
}

func admin(r *h.Run) *kadm.Client { return kadm.NewClient(newClient(r)) }

// config is one topic config.
type config struct{ name, value string }

func configMap(configs []config) map[string]*string {
	found := map[string]*string{}
	for _, c := range configs {
		found[c.name] = kadm.StringPtr(c.value)
	}
	return found
}

func createTopic(r *h.Run, partitions int32, configs ...config) string {
	return createTopicNamed(r, r.Topic(), partitions, configs...)
}

func createTopicNamed(r *h.Run, name string, partitions int32, configs ...config) string {
	client := admin(r)
	h.Got(client.CreateTopic(r.Ctx, partitions, 1, configMap(configs), name))
	// A broker may answer before all of it knows the topic.
	h.Eventually(func() bool { return readyPartitions(r, client, name) == int(partitions) }, 15, "partitions in the metadata")
	return name
}

func readyPartitions(r *h.Run, client *kadm.Client, name string) int {
	ready := 0
	for _, partition := range h.Got(client.ListTopics(r.Ctx))[name].Partitions {
		if partition.Err == nil && partition.Leader >= 0 {
			ready++
		}
	}
	return ready
}

// producer sends to the partition that each record names.
func producer(r *h.Run, options ...kgo.Opt) *kgo.Client {
	return newClient(r, append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, options...)...)
}

func send(r *h.Run, client *kgo.Client, records ...*kgo.Record) []*kgo.Record {
	var sent []*kgo.Record
	for _, result := range client.ProduceSync(r.Ctx, records...) {
		h.Must(result.Err)
		sent = append(sent, result.Record)
	}
	return sent
}

func text(topic string, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Value: []byte(value)}
}

// numbered are the records "0" to "count - 1" of a partition.
func numbered(topic string, partition int32, count int) []*kgo.Record {
	var records []*kgo.Record
	for i := range count {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Append(nil, i)})
	}
	return records
}

// reader consumes partitions 0 to count - 1 from an offset.
func reader(r *h.Run, topic string, count int32, from kgo.Offset, options ...kgo.Opt) *kgo.Client {
	places := map[int32]kgo.Offset{}
	for partition := range count {
		places[partition] = from
	}
	defaults := []kgo.Opt{
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: places}),
		kgo.FetchMaxWait(200 * time.Millisecond),
	}
	return newClient(r, append(defaults, options...)...)
}

func start() kgo.Offset { return kgo.NewOffset().AtStart() }

// take polls until count records are there, and fails if there are more.
func take(r *h.Run, client *kgo.Client, count int) []*kgo.Record {
	taken, err := tryTake(r, client, count, 20*time.Second)
	h.Must(err)
	h.Equal(len(taken), count, "number of records")
	return taken
}

func tryTake(r *h.Run, client *kgo.Client, count int, limit time.Duration) ([]*kgo.Record, error) {
	ctx, cancel := context.WithTimeout(r.Ctx, limit)
	defer cancel()
	var taken []*kgo.Record
	for len(taken) < count {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return taken, fmt.Errorf("%d of %d records in %v: %w", len(taken), count, limit, err)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return taken, errs[0].Err
		}
		taken = append(taken, fetches.Records()...)
	}
	return taken, nil
}

// nothing fails if a record arrives within this time.
func nothing(r *h.Run, client *kgo.Client, limit time.Duration) {
	ctx, cancel := context.WithTimeout(r.Ctx, limit)
	defer cancel()
	for ctx.Err() == nil {
		for _, record := range client.PollFetches(ctx).Records() {
			h.That(false, "unexpected record %q at %d", record.Value, record.Offset)
		}
	}
}

// read is all of a topic, which must be exactly count records.
func read(r *h.Run, topic string, count int, partitions int32) []*kgo.Record {
	client := reader(r, topic, partitions, start())
	taken := take(r, client, count)
	nothing(r, client, 300*time.Millisecond)
	return taken
}

func values(records []*kgo.Record) []string {
	var found []string
	for _, record := range records {
		found = append(found, string(record.Value))
	}
	return found
}

// at is "offset=value" of each record.
func at(records []*kgo.Record) []string {
	var found []string
	for _, record := range records {
		found = append(found, fmt.Sprintf("%d=%s", record.Offset, record.Value))
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
