"""A server that answers every Kafka request with success and does nothing: `stub_success.py dev --kafka HOST:PORT`.

It shows that the suites test something: whatever passes here tests nothing. Topics and partitions of a request are
mirrored into its answer with error code 0 and default values. Its only memory are the names of topics, of one partition
each, so that clients get as far as they can. The message definitions are those that kafka-python ships.
"""

import argparse
import asyncio
import inspect
import struct
import sys
import uuid

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
from kafka.protocol.api_message import ApiMessage

API_VERSIONS, PRODUCE = 18, 0
UNSUPPORTED_VERSION = 35
PARTITION = {"leader_id": 1, "leader_epoch": 0, "replica_nodes": [1], "isr_nodes": [1], "offline_replicas": []}
PARTITION |= {"eligible_leader_replicas": [], "last_known_elr": []}

# Names under which an answer's list is found in the request.
SOURCES = {
    "responses": ("topics", "topic_data", "topic_names", "resources"),
    "results": ("topics", "resources", "groups_names", "groups"),
    "topics": ("topics", "topic_data"),
    "groups": ("groups",),
    "coordinators": ("coordinator_keys",),
    "partitions": ("partitions", "partition_indexes"),
    "partition_responses": ("partition_data",),
    "members": ("members",),
}
# Names under which an answer's value is found in the request. A bare list item stands for the first that fits.
VALUES = {
    "partition_index": ("partition_index", "partition", "index"),
    "index": ("index",),
    "partition": ("partition", "partition_index"),
    "name": ("name", "topic"),
    "topic": ("topic", "name"),
    "key": ("key",),
    "group_id": ("group_id",),
    "topic_id": ("topic_id",),
    "resource_type": ("resource_type",),
    "resource_name": ("resource_name",),
    "member_id": ("member_id",),
    "group_instance_id": ("group_instance_id",),
}
BARE = {str: ("name", "topic", "key", "group_id"), int: ("partition_index", "partition")}


def messages(suffix):
    """The message classes by API key."""
    found = {}
    for module in (kafka.protocol.admin, kafka.protocol.consumer, kafka.protocol.metadata, kafka.protocol.producer):
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, ApiMessage) and name.endswith(suffix):
                found[int(kind.API_KEY)] = kind
    return found


REQUESTS, RESPONSES = messages("Request"), messages("Response")


class Stub:
    def __init__(self, host, port):
        self._host, self._port = host, port
        self._topics = {}

    async def serve(self):
        server = await asyncio.start_server(self._connection, self._host, self._port)
        async with server:
            await server.serve_forever()

    async def _connection(self, reader, writer):
        try:
            while True:
                frame = await reader.readexactly(struct.unpack(">i", await reader.readexactly(4))[0])
                answer = self._answer(frame)
                if answer is not None:
                    writer.write(answer)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception as error:
            print(f"a request that the stub cannot answer: {error!r}", file=sys.stderr, flush=True)
        finally:
            writer.close()

    def _answer(self, frame):
        key, version, correlation = struct.unpack(">hhi", frame[:8])
        kind = RESPONSES[key]
        if key == API_VERSIONS and version > kind.max_version:
            version, asked = 0, {"error_code": UNSUPPORTED_VERSION}  # The one failure: clients ask again, lower.
        elif key == API_VERSIONS:
            asked = {}
        else:
            asked = REQUESTS[key].decode(frame, version=version, header=True).to_dict(json=False)
        if key == PRODUCE and asked["acks"] == 0:
            return None
        values = mirror(kind, asked)
        special = getattr(self, f"_{kind.__name__.removesuffix('Response').lower()}", None)
        if special:
            special(values, asked)
        answer = fill(kind, version, values)
        answer.with_header(correlation_id=correlation)
        return bytes(answer.encode(header=True, framed=True))

    def _topic_id(self, name):
        return self._topics.setdefault(name, uuid.uuid5(uuid.NAMESPACE_OID, name))

    def _apiversions(self, values, asked):
        values |= asked
        values["api_keys"] = [
            {"api_key": key, "min_version": 0, "max_version": kind.max_version} for key, kind in REQUESTS.items()
        ]

    def _metadata(self, values, asked):
        names = {identity: name for name, identity in self._topics.items()}
        wanted = [topic["name"] or names.get(topic["topic_id"], "?") for topic in asked["topics"] or []]
        values["brokers"] = [{"node_id": 1, "host": self._host, "port": self._port}]
        values |= {"controller_id": 1, "cluster_id": "stub"}
        values["topics"] = [
            {"name": name, "topic_id": self._topic_id(name), "partitions": [PARTITION]}
            for name in (wanted or list(self._topics))
        ]

    def _describetopicpartitions(self, values, _asked):
        for topic in values["topics"]:
            topic |= {"topic_id": self._topic_id(topic["name"]), "partitions": [PARTITION]}

    def _listoffsets(self, values, _asked):
        for topic in values["topics"]:
            for partition in topic["partitions"]:
                partition["offset"] = 0

    def _describecluster(self, values, _asked):
        values |= {"cluster_id": "", "controller_id": 1}
        values["brokers"] = [{"broker_id": 1, "host": self._host, "port": self._port}]

    def _createtopics(self, values, _asked):
        for topic in values["topics"]:
            self._topic_id(topic["name"])

    def _findcoordinator(self, values, asked):
        where = {"node_id": 1, "host": self._host, "port": self._port}
        values |= where
        values["coordinators"] = [{"key": key, **where} for key in asked.get("coordinator_keys") or []]

    def _initproducerid(self, values, _asked):
        values |= {"producer_id": 1, "producer_epoch": 0}

    def _joingroup(self, values, asked):
        member = asked["member_id"] or f"member-{uuid.uuid4()}"
        protocol = asked["protocols"][0]
        values |= {"generation_id": 1, "protocol_type": asked["protocol_type"], "protocol_name": protocol["name"]}
        values |= {"leader": member, "member_id": member}
        values["members"] = [{"member_id": member, "metadata": protocol["metadata"]}]

    def _syncgroup(self, values, asked):
        given = asked["assignments"]
        values |= {"protocol_type": asked.get("protocol_type"), "protocol_name": asked.get("protocol_name")}
        values["assignment"] = given[0]["assignment"] if given else b""


def mirror(kind, asked):
    """Values for an answer of this kind, taken from what was asked where names agree."""
    values = {}
    for name, field in kind._struct.fields.items():
        if field.is_struct_array():
            sources = [asked[s] for s in SOURCES.get(name, ()) if isinstance(asked, dict) and asked.get(s)]
            values[name] = [mirror(field.data_class, item) for item in sources[0]] if sources else []
        elif isinstance(asked, dict):
            for source in VALUES.get(name, ()):
                if asked.get(source) is not None:
                    values[name] = asked[source]
                    break
        elif name in BARE.get(type(asked), ()):
            values[name] = asked
    return values


def fill(kind, version, values):
    """A message of this kind and version; what has no value gets its default, so error codes are 0."""
    ready = {}
    for name, value in values.items():
        field = kind._struct.fields.get(name)
        if field is None or not field.for_version_q(version):
            continue
        ready[name] = [fill(field.data_class, version, item) for item in value] if field.is_struct_array() else value
    return kind(version=version, **ready)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["dev"])
    parser.add_argument("--kafka", required=True)
    options, _ignored = parser.parse_known_args()
    host, port = options.kafka.rsplit(":", 1)
    asyncio.run(Stub(host, int(port)).serve())


if __name__ == "__main__":
    main()
