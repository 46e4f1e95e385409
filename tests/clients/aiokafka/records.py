"""What a record carries, codecs, acks, idempotence, sizes."""

from aiokafka import errors
from harness import case, equal
from kit import at, create_topic, expect, producer, read, reader, send, send_all, take, values


async def through_codecs(run, each, *codecs):
    topic = await create_topic(run)
    sent = []
    for codec in codecs:
        batch = [f"{codec} {i} ".encode() * 20 for i in range(each)]
        client = await producer(run, compression_type=None if codec == "none" else codec)
        await send_all(client, topic, [{"value": value} for value in batch])
        sent += batch
    equal(values(await read(run, topic, len(sent))), sent, "records")


def codec_case(codec):
    @case(f"codecs.{codec}")
    async def body(run):
        await through_codecs(run, 200, codec)


for _codec in ("none", "gzip", "snappy", "lz4", "zstd"):
    codec_case(_codec)


@case("codecs.mixed")
async def mixed(run):
    await through_codecs(run, 20, "gzip", "none", "zstd", "lz4", "snappy", "gzip")


async def idempotent(run, bootstrap):
    topic = await create_topic(run)
    client = await producer(run, bootstrap_servers=bootstrap, enable_idempotence=True, max_batch_size=200)
    placed = await send_all(client, topic, [{"value": b"%d" % i} for i in range(1000)])
    equal([p.offset for p in placed], list(range(1000)), "offsets")
    equal(at(await read(run, topic, 1000)), [(i, i) for i in range(1000)], "records")


@case("idempotence.in_order_once")
async def in_order_once(run):
    await idempotent(run, run.bootstrap)


@case("idempotence.retries_once")
async def retries_once(run):
    await idempotent(run, run.flaky)


async def round_trip(run, **fields):
    topic = await create_topic(run)
    await send(run, topic, **fields)
    return (await read(run, topic, 1))[0]


@case("records.key_and_value")
async def key_and_value(run):
    got = await round_trip(run, key="ключ 钥匙".encode(), value="valeur, 值, τιμή 🦀".encode())
    equal((got.key.decode(), got.value.decode()), ("ключ 钥匙", "valeur, 值, τιμή 🦀"))


@case("records.binary")
async def binary(run):
    every_byte = bytes(range(256))
    got = await round_trip(run, key=every_byte, value=every_byte * 4)
    equal((got.key, got.value), (every_byte, every_byte * 4))


@case("records.null_key")
async def null_key(run):
    got = await round_trip(run, key=None, value=b"v")
    equal((got.key, got.value), (None, b"v"))


@case("records.tombstone")
async def tombstone(run):
    got = await round_trip(run, key=b"k", value=None)
    equal((got.key, got.value), (b"k", None))


@case("records.empty_is_not_null")
async def empty_is_not_null(run):
    got = await round_trip(run, key=b"", value=b"")
    equal((got.key, got.value), (b"", b""))


@case("records.headers")
async def headers(run):
    sent = [("b", b"1"), ("a", b""), ("b", b"2"), ("null", None), ("ключ", bytes(range(256)))]
    equal(list((await round_trip(run, value=b"v", headers=sent)).headers), sent, "headers")


async def with_acks(run, acks):
    topic = await create_topic(run)
    placed = await send_all(await producer(run, acks=acks), topic, [{"value": b"%d" % i} for i in range(50)])
    equal(at(await read(run, topic, 50)), [(i, i) for i in range(50)], "records")
    return [p and p.offset for p in placed]


@case("acks.zero")
async def acks_zero(run):
    await with_acks(run, 0)


@case("acks.one")
async def acks_one(run):
    equal(await with_acks(run, 1), list(range(50)), "offsets")


@case("acks.all")
async def acks_all(run):
    equal(await with_acks(run, "all"), list(range(50)), "offsets")


@case("large.near_limit")
async def near_limit(run):
    value = bytes(i * 7 % 251 for i in range(1000)) * 900
    got = await round_trip(run, value=value)
    assert got.value == value, f"{len(got.value)} bytes differ"


@case("large.over_limit")
async def over_limit(run):
    topic = await create_topic(run)
    client = await producer(run, max_request_size=4_000_000)
    await expect(errors.MessageSizeTooLargeError, client.send_and_wait(topic, b"x" * 2_000_000))
    equal((await send(run, topic, b"small")).offset, 0, "offset")
    equal(values(await read(run, topic, 1)), [b"small"], "records")


@case("large.topic_limit")
async def topic_limit(run):
    topic = await create_topic(run, max_message_bytes=50_000)
    await expect(errors.MessageSizeTooLargeError, send(run, topic, b"x" * 60_000))
    await send(run, topic, b"y" * 40_000)
    equal(values(await read(run, topic, 1)), [b"y" * 40_000], "records")


@case("large.above_fetch_limit")
async def above_fetch_limit(run):
    topic = await create_topic(run)
    sent = [bytes([65 + i]) * 300_000 for i in range(5)]
    client = await producer(run)
    for value in sent:
        await client.send_and_wait(topic, value)
    small = await reader(run, topic, max_partition_fetch_bytes=1000, fetch_max_bytes=1000)
    assert values(await take(small, 5)) == sent, "records differ"
