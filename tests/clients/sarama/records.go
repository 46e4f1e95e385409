package main

import (
	"fmt"
	"strings"

	"github.com/IBM/sarama"

	h "tidemill/tests/clients/goharness"
)

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func codec(name string) func(*sarama.Config) {
	return func(c *sarama.Config) { c.Producer.Compression = codecs[name] }
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
		roundTrip(r, []byte("ключ 钥匙"), []byte("valeur, 值, τιμή 🦀"))
	})
	h.Case("records.binary", func(r *h.Run) { roundTrip(r, everyByte, everyByte) })
	h.Case("records.null_key", func(r *h.Run) { roundTrip(r, nil, []byte("v")) })
	h.Case("records.tombstone", func(r *h.Run) { roundTrip(r, []byte("k"), nil) })
	h.Case("records.empty_is_not_null", func(r *h.Run) { roundTrip(r, []byte{}, []byte{}) })
	h.Case("records.headers", func(r *h.Run) {
		roundTrip(r, nil, []byte("v"),
			sarama.RecordHeader{Key: []byte("b"), Value: []byte("1")},
			sarama.RecordHeader{Key: []byte("a"), Value: []byte{}},
			sarama.RecordHeader{Key: []byte("b"), Value: []byte("2")},
			sarama.RecordHeader{Key: []byte("null"), Value: nil},
			sarama.RecordHeader{Key: []byte("ключ"), Value: everyByte})
	})
	h.Case("acks.zero", func(r *h.Run) { withAcks(r, sarama.NoResponse) })
	h.Case("acks.one", func(r *h.Run) { h.Equal(withAcks(r, sarama.WaitForLocal), upTo(50), "acknowledged") })
	h.Case("acks.all", func(r *h.Run) { h.Equal(withAcks(r, sarama.WaitForAll), upTo(50), "acknowledged") })
	h.Case("large.near_limit", func(r *h.Run) { roundTrip(r, nil, large(900_000, 7)) })
	h.Case("large.over_limit", func(r *h.Run) {
		topic := createTopic(r, 1)
		client := producer(r, func(c *sarama.Config) { c.Producer.MaxMessageBytes = 4_000_000 })
		tooLarge(client, topic, 2_000_000)
		h.Equal(placed(send(producer(r), text(topic, "small"))), []int64{0}, "placed")
		h.Equal(at(read(r, topic, 0, 1)), []string{"0=small"}, "records")
	})
	h.Case("large.topic_limit", func(r *h.Run) {
		topic := createTopic(r, 1, config{"max.message.bytes", "50000"})
		tooLarge(producer(r), topic, 60_000)
		send(producer(r), text(topic, strings.Repeat("y", 40_000)))
		h.Equal(values(read(r, topic, 0, 1)), []string{strings.Repeat("y", 40_000)}, "records")
	})
	h.Case("large.above_fetch_limit", aboveFetchLimit)
}

func throughCodecs(r *h.Run, each int, names ...string) {
	topic := createTopic(r, 1)
	var sent []string
	for _, name := range names {
		var messages []*sarama.ProducerMessage
		for i := range each {
			value := strings.Repeat(fmt.Sprintf("%s %d ", name, i), 20)
			sent = append(sent, value)
			messages = append(messages, text(topic, value))
		}
		send(producer(r, codec(name)), messages...)
	}
	h.Equal(values(read(r, topic, 0, len(sent))), sent, "records")
}

func idempotent(r *h.Run, bootstrap string) {
	topic := createTopic(r, 1)
	client := h.Got(sarama.NewSyncProducer([]string{bootstrap}, settings(func(c *sarama.Config) {
		c.Producer.Idempotent = true
		c.Net.MaxOpenRequests = 1
		c.Producer.Flush.MaxMessages = 20
	})))
	r.AtEnd(func() { _ = client.Close() })
	h.Equal(placed(send(client, numbered(topic, 0, 1000)...)), upTo(1000), "acknowledged")
	h.Equal(at(read(r, topic, 0, 1000)), span(0, 1000), "records")
}

func encoded(value []byte) sarama.Encoder {
	if value == nil {
		return nil
	}
	return sarama.ByteEncoder(value)
}

func roundTrip(r *h.Run, key, value []byte, headers ...sarama.RecordHeader) {
	topic := createTopic(r, 1)
	send(producer(r), &sarama.ProducerMessage{Topic: topic, Key: encoded(key), Value: encoded(value), Headers: headers})
	got := read(r, topic, 0, 1)[0]
	h.Equal(got.Key, key, "key")
	h.Equal(got.Value == nil, value == nil, "null value")
	h.That(string(got.Value) == string(value), "value differs")
	h.Equal(len(got.Headers), len(headers), "number of headers")
	for i, header := range headers {
		h.Equal(*got.Headers[i], header, "header")
	}
}

func withAcks(r *h.Run, acks sarama.RequiredAcks) []int64 {
	topic := createTopic(r, 1)
	client := producer(r, func(c *sarama.Config) { c.Producer.RequiredAcks = acks })
	sent := send(client, numbered(topic, 0, 50)...)
	h.Equal(at(read(r, topic, 0, 50)), span(0, 50), "records")
	return placed(sent)
}

func tooLarge(client sarama.SyncProducer, topic string, size int) {
	message := &sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(large(size, 3))}
	_, _, err := client.SendMessage(message)
	h.Fails(err, sarama.ErrMessageSizeTooLarge)
}

func large(size, step int) []byte {
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(i * step % 251)
	}
	return value
}

func aboveFetchLimit(r *h.Run) {
	topic := createTopic(r, 1)
	for i := range 5 {
		send(producer(r), &sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(large(300_000, i+1))})
	}
	from := open(r, topic, 0, sarama.OffsetOldest, func(c *sarama.Config) {
		c.Consumer.Fetch.Default = 1000
		c.Consumer.Fetch.MaxBytes = 1000
	})
	for i, message := range take(r, from, 5) {
		h.That(string(message.Value) == string(large(300_000, i+1)), "record %d differs", i)
	}
}
