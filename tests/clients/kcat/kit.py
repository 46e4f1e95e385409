"""Runs kcat, and prepares with confluent-kafka what kcat cannot: topics, timestamps, committed offsets."""

import json
import subprocess
import sys
import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from harness import eventually

KCAT = "kcat"  # Replaced by the suite's --kcat.


class Kcat:
    """What a finished kcat said and how it ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def lines(self):
        return self.out.decode().splitlines()


def kcat(run, *arguments, input=b"", seconds=25, bootstrap=None, demand=True):
    """Runs kcat to its end, and demands that it ended well unless told otherwise."""
    command = [KCAT, "-b", bootstrap or run.bootstrap, "-X", "broker.address.family=v4", *arguments]
    try:
        done = subprocess.run(command, input=input, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as expired:
        raise AssertionError(f"kcat {' '.join(arguments)} did not end: {(expired.stderr or b'')[-300:]!r}") from None
    if demand:
        assert done.returncode == 0, f"kcat {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-300:]!r}"
    return Kcat(done.returncode, done.stdout, done.stderr.decode())


def refused(run, *arguments, saying, input=b"x"):
    """kcat must end badly and name this error."""
    done = kcat(run, *arguments, input=input, demand=False)
    assert done.code != 0, f"kcat {' '.join(arguments)} ended well: {done.err[-300:]}"
    assert saying in done.err, f"no `{saying}` in: {done.err[-300:]}"


def produce(run, topic, values, *arguments, bootstrap=None):
    """Produces each value as one record, one a line."""
    kcat(run, "-P", "-t", topic, *arguments, input="".join(f"{v}\n" for v in values).encode(), bootstrap=bootstrap)


def consume(run, topic, count, *arguments, form="%o=%s\\n"):
    """The lines of the records up to the end of the topic, which must be exactly `count`."""
    found = kcat(run, "-C", "-t", topic, "-e", "-q", "-f", form, *arguments).lines()
    assert len(found) == count, f"{len(found)} records, expected {count}: {found[:5]}"
    return found


def consume_json(run, topic, *arguments):
    return [json.loads(line) for line in kcat(run, "-C", "-t", topic, "-e", "-q", "-J", *arguments).lines()]


class Running:
    """A kcat that goes on: its lines come in as they are printed."""

    def __init__(self, run, *arguments):
        command = [KCAT, "-b", run.bootstrap, "-X", "broker.address.family=v4", *arguments]
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        self.out, self.err = [], []
        for stream, lines in ((self.process.stdout, self.out), (self.process.stderr, self.err)):
            threading.Thread(target=self._read, args=(stream, lines), daemon=True).start()
        run.at_end(self.process.kill)

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append(line.decode().rstrip("\n"))

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def admin(run):
    if run.admin is None:
        run.admin = AdminClient({"bootstrap.servers": run.bootstrap, "broker.address.family": "v4", "log_level": 0})
    return run.admin


def create_topic(run, partitions=1, **configs):
    topic = run.topic()
    config = {key.replace("_", "."): str(value) for key, value in configs.items()}
    admin(run).create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(15)

    def known():
        found = admin(run).list_topics(timeout=10).topics.get(topic)
        return found and len([p for p in found.partitions.values() if p.leader >= 0]) == partitions

    eventually(known, "partitions in the metadata", pause=0.02)
    return topic


def produce_stamped(run, topic, batches, **configs):
    """One batch for each list of timestamps."""
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    client = Producer({"bootstrap.servers": run.bootstrap, "linger.ms": 200, "log_level": 0, **settings})
    for stamps in batches:
        for stamp in stamps:
            client.produce(topic, value=str(stamp), timestamp=stamp)
        assert client.flush(20) == 0, "records not delivered"


def committed(run, group, topic):
    client = Consumer({"bootstrap.servers": run.bootstrap, "group.id": group, "log_level": 0})
    try:
        return client.committed([TopicPartition(topic, 0)], timeout=10)[0].offset
    finally:
        client.close()


def span(first, end):
    """"i=i" as numbered records give in the usual form."""
    return [f"{i}={i}" for i in range(first, end)]


def now_ms():
    return int(time.time() * 1000)


def main(client):
    """Takes --kcat PATH out of the command line and runs the suite."""
    import harness

    global KCAT
    at = sys.argv.index("--kcat")
    KCAT = sys.argv[at + 1]
    del sys.argv[at : at + 2]
    harness.main(client)
