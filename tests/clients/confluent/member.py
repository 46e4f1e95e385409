"""A group member in a process of its own, to be killed: member.py BOOTSTRAP TOPIC GROUP SESSION_TIMEOUT_MS."""

import sys
import time

from confluent_kafka import Consumer

bootstrap, topic, group, session = sys.argv[1:]
client = Consumer(
    {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "session.timeout.ms": int(session),
        "heartbeat.interval.ms": 500,
        "broker.address.family": "v4",
    }
)
client.subscribe([topic], on_assign=lambda _, parts: print(len(parts), flush=True))
ends = time.monotonic() + 60  # Nobody may be left to kill it.
while time.monotonic() < ends:
    client.poll(0.2)
