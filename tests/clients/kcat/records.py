"""Topics that kcat sees, and what it writes and reads."""

import json
import os
import tempfile

from harness import case, equal
from kit import admin, consume, consume_json, create_topic, kcat, produce, refused, span


def metadata(run, *arguments):
    return json.loads(kcat(run, "-L", "-J", *arguments).out)


@case("topics.create_describe_list")
def create_describe_list(run):
    topic = create_topic(run, 3)
    found = {t["topic"]: t for t in metadata(run)["topics"]}
    assert topic in found, "not listed"
    partitions = metadata(run, "-t", topic)["topics"][0]["partitions"]
    equal(sorted(p["partition"] for p in partitions), [0, 1, 2], "partitions")
    assert all(p["leader"] >= 0 and p["replicas"] for p in partitions), partitions


@case("topics.auto_create")
def auto_create(run):
    topic = run.topic()
    produce(run, topic, ["made"])
    assert topic in admin(run).list_topics(timeout=10).topics
    equal(consume(run, topic, 1), ["0=made"], "records")


@case("cluster.describe")
def describe_cluster(run):
    create_topic(run, 2)
    found = metadata(run)
    port = run.bootstrap.rsplit(":", 1)[1]
    assert any(broker["name"].endswith(f":{port}") for broker in found["brokers"]), found["brokers"]
    assert found["controllerid"] in [broker["id"] for broker in found["brokers"]], "the controller is missing"
    assert any(len(topic["partitions"]) == 2 for topic in found["topics"]), "our topic is missing"


def through_codecs(run, each, *codecs):
    topic, sent = create_topic(run), []
    for codec in codecs:
        batch = [f"{codec} {i} " * 20 for i in range(each)]
        produce(run, topic, batch, "-z", codec)
        sent += batch
    equal(consume(run, topic, len(sent), form="%s\\n"), sent, "records")


for _codec in ("none", "gzip", "snappy", "lz4", "zstd"):
    case(f"codecs.{_codec}")(lambda run, codec=_codec: through_codecs(run, 200, codec))


@case("codecs.mixed")
def mixed(run):
    through_codecs(run, 20, "gzip", "none", "zstd", "lz4", "snappy", "gzip")


def idempotent(run, bootstrap):
    topic = create_topic(run)
    settings = "enable.idempotence=true,batch.num.messages=20,linger.ms=1,retry.backoff.ms=20"
    reconnect = "reconnect.backoff.ms=10,reconnect.backoff.max.ms=50"
    arguments = [part for one in f"{settings},{reconnect}".split(",") for part in ("-X", one)]
    produce(run, topic, range(1000), "-E", *arguments, bootstrap=bootstrap)  # -E: a lost connection is no reason to end.
    equal(consume(run, topic, 1000), span(0, 1000), "records")


@case("idempotence.in_order_once")
def in_order_once(run):
    idempotent(run, run.bootstrap)


@case("idempotence.retries_once")
def retries_once(run):
    idempotent(run, run.flaky)


@case("records.key_and_value")
def key_and_value(run):
    topic = create_topic(run)
    produce(run, topic, ["ключ 钥匙:valeur, 值, τιμή 🦀"], "-K:")
    equal(consume(run, topic, 1, form="%k|%s\\n"), ["ключ 钥匙|valeur, 值, τιμή 🦀"], "record")


def send_file(run, topic, content, *arguments):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(content)
    run.at_end(os.unlink, file.name)
    kcat(run, "-P", "-t", topic, *arguments, file.name)


@case("records.binary")
def binary(run):
    topic, every_byte = create_topic(run), bytes(range(256)) * 3
    send_file(run, topic, every_byte)
    equal(kcat(run, "-C", "-t", topic, "-e", "-q", "-f", "%s").out, every_byte, "value")


def keys_and_values(run, topic):
    return [(record["key"], record["payload"]) for record in consume_json(run, topic)]


@case("records.null_key")
def null_key(run):
    topic = create_topic(run)
    produce(run, topic, ["v"])
    equal(keys_and_values(run, topic), [(None, "v")], "record")


@case("records.tombstone")
def tombstone(run):
    topic = create_topic(run)
    produce(run, topic, ["k:"], "-K:", "-Z")
    equal(keys_and_values(run, topic), [("k", None)], "record")


@case("records.empty_is_not_null")
def empty_is_not_null(run):
    topic = create_topic(run)
    produce(run, topic, [":"], "-K:")
    equal(consume(run, topic, 1, form="%K|%S\\n"), ["0|0"], "lengths")  # A null has length -1.


@case("records.headers")
def headers(run):
    topic = create_topic(run)
    produce(run, topic, ["v"], "-H", "b=1", "-H", "a=", "-H", "b=2", "-H", "null", "-H", "ключ=значение")
    expected = ["b", "1", "a", "", "b", "2", "null", None, "ключ", "значение"]
    equal(consume_json(run, topic)[0]["headers"], expected, "headers")


def with_acks(run, acks):
    topic = create_topic(run)
    produce(run, topic, range(50), "-X", f"acks={acks}")
    equal(consume(run, topic, 50), span(0, 50), "records")


for _name, _acks in (("zero", "0"), ("one", "1"), ("all", "all")):
    case(f"acks.{_name}")(lambda run, acks=_acks: with_acks(run, acks))


@case("large.near_limit")
def near_limit(run):
    topic, value = create_topic(run), bytes(i * 7 % 251 for i in range(1000)) * 900
    send_file(run, topic, value)
    assert kcat(run, "-C", "-t", topic, "-e", "-q", "-f", "%s").out == value, "value differs"


def send_too_large(run, topic, size, *arguments):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"x" * size)
    run.at_end(os.unlink, file.name)
    refused(run, "-P", "-t", topic, *arguments, file.name, saying="Broker: Message size too large")


@case("large.over_limit")
def over_limit(run):
    topic = create_topic(run)
    send_too_large(run, topic, 2_000_000, "-X", "message.max.bytes=4000000")
    produce(run, topic, ["small"])
    equal(consume(run, topic, 1), ["0=small"], "records")


@case("large.topic_limit")
def topic_limit(run):
    topic = create_topic(run, max_message_bytes=50_000)
    send_too_large(run, topic, 60_000)
    produce(run, topic, ["y" * 40_000])
    equal(consume(run, topic, 1, form="%S\\n"), ["40000"], "size")


@case("large.above_fetch_limit")
def above_fetch_limit(run):
    topic = create_topic(run)
    for letter in "abcde":
        send_file(run, topic, letter.encode() * 300_000)
    small = ["-X", "fetch.message.max.bytes=1000", "-X", "fetch.max.bytes=1000", "-X", "message.max.bytes=1000"]
    equal(consume(run, topic, 5, *small, form="%s\\n"), [letter * 300_000 for letter in "abcde"], "records")
