"""What a record carries, codecs, acks, idempotence, sizes."""

from harness import case, equal
from kafka import errors
from kit import create_topic, expect, producer, read, reader, send, send_all, take, values


def through_codec(run, codec):
    topic = create_topic(run)
    sent = [f"{codec} {i} ".encode() * 20 for i in range(200)]
    send_all(producer(run, compression_type=codec), topic, [{"value": value} for value in sent])
    equal(values(read(run, topic, 200)), sent, "records")


for _codec in ("none", "gzip", "snappy", "lz4", "zstd"):
    case(f"codecs.{_codec}")(lambda run, codec=_codec: through_codec(run, None if codec == "none" else codec))


@case("codecs.mixed")
def mixed(run):
    topic = create_topic(run)
    sent = []
    for codec in ("gzip", None, "zstd", "lz4", "snappy", "gzip"):
        batch = [f"{codec}-{i}".encode() * 10 for i in range(20)]
        send_all(producer(run, compression_type=codec), topic, [{"value": value} for value in batch])
        sent += batch
    equal(values(read(run, topic, len(sent))), sent, "records")


def idempotent(run, bootstrap):
    topic = create_topic(run)
    client = producer(run, bootstrap_servers=bootstrap, enable_idempotence=True, batch_size=200, linger_ms=1)
    sent = [f"{i}".encode() for i in range(1000)]
    placed = send_all(client, topic, [{"value": value} for value in sent])
    equal([p.offset for p in placed], list(range(1000)), "offsets")
    equal(values(read(run, topic, 1000)), sent, "records")


@case("idempotence.in_order_once")
def in_order_once(run):
    idempotent(run, run.bootstrap)


@case("idempotence.retries_once")
def retries_once(run):
    idempotent(run, run.flaky)


def round_trip(run, **fields):
    topic = create_topic(run)
    send(producer(run), topic, **fields)
    return read(run, topic, 1)[0]


@case("records.key_and_value")
def key_and_value(run):
    got = round_trip(run, key="ключ 钥匙".encode(), value="valeur, 值, τιμή 🦀".encode())
    equal((got.key.decode(), got.value.decode()), ("ключ 钥匙", "valeur, 值, τιμή 🦀"))


@case("records.binary")
def binary(run):
    every_byte = bytes(range(256))
    got = round_trip(run, key=every_byte, value=every_byte * 4)
    equal((got.key, got.value), (every_byte, every_byte * 4))


@case("records.null_key")
def null_key(run):
    got = round_trip(run, key=None, value=b"v")
    equal((got.key, got.value), (None, b"v"))


@case("records.tombstone")
def tombstone(run):
    got = round_trip(run, key=b"k", value=None)
    equal((got.key, got.value), (b"k", None))


@case("records.empty_is_not_null")
def empty_is_not_null(run):
    got = round_trip(run, key=b"", value=b"")
    equal((got.key, got.value), (b"", b""))


@case("records.headers")
def headers(run):
    sent = [("b", b"1"), ("a", b""), ("b", b"2"), ("ключ", bytes(range(256)))]
    equal(list(round_trip(run, value=b"v", headers=sent).headers), sent, "headers")


def with_acks(run, acks):
    topic = create_topic(run)
    sent = [f"{i}".encode() for i in range(50)]
    client = producer(run, acks=acks, enable_idempotence=acks == "all")
    placed = send_all(client, topic, [{"value": value} for value in sent])
    equal(values(read(run, topic, 50)), sent, "records")
    return [p.offset for p in placed]


@case("acks.zero")
def acks_zero(run):
    with_acks(run, 0)


@case("acks.one")
def acks_one(run):
    equal(with_acks(run, 1), list(range(50)), "offsets")


@case("acks.all")
def acks_all(run):
    equal(with_acks(run, "all"), list(range(50)), "offsets")


@case("large.near_limit")
def near_limit(run):
    value = bytes(i * 7 % 251 for i in range(1000)) * 900
    got = round_trip(run, value=value)
    assert got.value == value, f"{len(got.value)} bytes differ"


@case("large.over_limit")
def over_limit(run):
    topic = create_topic(run)
    client = producer(run, max_request_size=4_000_000)
    expect(errors.MessageSizeTooLargeError, send, client, topic, b"x" * 2_000_000)
    equal(send(producer(run), topic, b"small").offset, 0, "offset")
    equal(values(read(run, topic, 1)), [b"small"], "records")


@case("large.topic_limit")
def topic_limit(run):
    topic = create_topic(run, max_message_bytes=50_000)
    expect(errors.MessageSizeTooLargeError, send, producer(run), topic, b"x" * 60_000)
    send(producer(run), topic, b"y" * 40_000)
    equal(values(read(run, topic, 1)), [b"y" * 40_000], "records")


@case("large.above_fetch_limit")
def above_fetch_limit(run):
    topic = create_topic(run)
    sent = [bytes([65 + i]) * 300_000 for i in range(5)]
    for value in sent:
        send(producer(run), topic, value)
    client = reader(run, topic, max_partition_fetch_bytes=1000, fetch_max_bytes=1000)
    assert values(take(client, 5)) == sent, "records differ"
