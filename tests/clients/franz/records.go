package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	h "tidemill/tests/clients/goharness"
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func registerRecords() {
	for _, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		h.Case("codecs."+name, func(r *h.Run) { throughCodecs(r, 200, name) })
	}
	h.Case("codecs.mixed", func(r *h.Run) { throughCodecs(r, 20, "gzip", "none", "zstd", "lz4", "snappy", "gzip") })
	h.Case("idempotence.in_order_once", func(r *h.Run) { idempotent(r, r.Bootstrap) })
	h.Case("idempotence.retries_once", func(r *h.Run) { idempotent(r, r.Flaky) })
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	h.Case("records.key_and_value", func(r *h.Run) {
		roundTrip(r, kgo.Record{Key: []byte("ключ 钥匙"), Value: []byte("valeur, 值, τιμή 🦀")})
	})
	h.Case("records.binary", func(r *h.Run) { roundTrip(r, kgo.Record{Key: everyByte, Value: everyByte}) })
	h.Case("records.null_key", func(r *h.Run) { roundTrip(r, kgo.Record{Value: []byte("v")}) })
	h.Case("records.tombstone", func(r *h.Run) { roundTrip(r, kgo.Record{Key: []byte("k")}) })
	h.Case("records.empty_is_not_null", func(r *h.Run) { roundTrip(r, kgo.Record{Key: []byte{}, Value: []byte{}}) })
	h.Case("records.headers", func(r *h.Run) {
		roundTrip(r, kgo.Record{Value: []byte("v"), Headers: []kgo.RecordHeader{
			{Key: "b", Value: []byte("1")}, {Key: "a", Value: []byte{}}, {Key: "b", Value: []byte("2")},
			{Key: "null", Value: nil}, {Key: "ключ", Value: everyByte},
		}})
	})
	h.Case("acks.zero", func(r *h.Run) {
		withAcks(r, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	})
	h.Case("acks.one", func(r *h.Run) {
		offsets := withAcks(r, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
		h.Equal(offsets, span(0, 50), "acknowledged")
	})
	h.Case("acks.all", func(r *h.Run) {
		h.Equal(withAcks(r, kgo.RequiredAcks(kgo.AllISRAcks())), span(0, 50), "acknowledged")
	})
	h.Case("large.near_limit", func(r *h.Run) { roundTrip(r, kgo.Record{Value: large(900_000, 7)}) })
	h.Case("large.over_limit", func(r *h.Run) {
		topic := createTopic(r, 1)
		client := producer(r, kgo.ProducerBatchMaxBytes(4_000_000))
		result := client.ProduceSync(r.Ctx, &kgo.Record{Topic: topic, Value: incompressible(2_000_000)})
		h.Fails(result.FirstErr(), kerr.MessageTooLarge)
		h.Equal(at(send(r, producer(r), text(topic, "small"))), []string{"0=small"}, "placed")
		h.Equal(at(read(r, topic, 1, 1)), []string{"0=small"}, "records")
	})
	h.Case("large.topic_limit", func(r *h.Run) {
		topic := createTopic(r, 1, config{"max.message.bytes", "50000"})
		client := producer(r, kgo.ProducerBatchCompression(kgo.NoCompression()))
		result := client.ProduceSync(r.Ctx, &kgo.Record{Topic: topic, Value: large(60_000, 3)})
		h.Fails(result.FirstErr(), kerr.MessageTooLarge)
		send(r, client, text(topic, strings.Repeat("y", 40_000)))
		h.Equal(values(read(r, topic, 1, 1)), []string{strings.Repeat("y", 40_000)}, "records")
	})
	h.Case("large.above_fetch_limit", aboveFetchLimit)
}

func throughCodecs(r *h.Run, each int, names ...string) {
	topic := createTopic(r, 1)
	var sent []string
	for _, name := range names {
		client := producer(r, kgo.ProducerBatchCompression(codecs[name]), kgo.ProducerLinger(50*time.Millisecond))
		var records []*kgo.Record
		for i := range each {
			value := strings.Repeat(fmt.Sprintf("%s %d ", name, i), 20)
			sent = append(sent, value)
			records = append(records, text(topic, value))
		}
		send(r, client, records...)
	}
	h.Equal(values(read(r, topic, len(sent), 1)), sent, "records")
}

func idempotent(r *h.Run, bootstrap string) {
	topic := createTopic(r, 1)
	client := producer(r, kgo.SeedBrokers(bootstrap), kgo.ProducerBatchMaxBytes(512),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	h.Equal(at(send(r, client, numbered(topic, 0, 1000)...)), span(0, 1000), "acknowledged")
	h.Equal(at(read(r, topic, 1000, 1)), span(0, 1000), "records")
}

func roundTrip(r *h.Run, record kgo.Record) {
	topic := createTopic(r, 1)
	sent := record
	sent.Topic = topic
	send(r, producer(r), &sent)
	got := read(r, topic, 1, 1)[0]
	h.Equal(got.Key, record.Key, "key")
	h.That(string(got.Value) == string(record.Value), "value differs")
	h.Equal(got.Value == nil, record.Value == nil, "null value")
	h.Equal(got.Headers, record.Headers, "headers")
}

func withAcks(r *h.Run, options ...kgo.Opt) []string {
	topic := createTopic(r, 1)
	placed := at(send(r, producer(r, options...), numbered(topic, 0, 50)...))
	h.Equal(at(read(r, topic, 50, 1)), span(0, 50), "records")
	return placed
}

func large(size, step int) []byte {
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(i * step % 251)
	}
	return value
}

// incompressible has no repetition that a codec would find.
func incompressible(size int) []byte {
	value, state := make([]byte, size), uint64(88172645463325252)
	for i := range value {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		value[i] = byte(state)
	}
	return value
}

func aboveFetchLimit(r *h.Run) {
	topic := createTopic(r, 1)
	client := producer(r, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for i := range 5 {
		send(r, client, &kgo.Record{Topic: topic, Value: large(300_000, i+1)})
	}
	small := []kgo.Opt{kgo.FetchMaxBytes(1000), kgo.FetchMaxPartitionBytes(1000)}
	for i, record := range take(r, reader(r, topic, 1, start(), small...), 5) {
		h.That(string(record.Value) == string(large(300_000, i+1)), "record %d differs", i)
	}
}
