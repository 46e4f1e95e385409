"""A group member in a process of its own, to be killed: member.py BOOTSTRAP TOPIC GROUP SESSION_TIMEOUT_MS."""

import sys
import time

from kafka import KafkaConsumer

bootstrap, topic, group, session = sys.argv[1:]
client = KafkaConsumer(
    topic,
    bootstrap_servers=bootstrap,
    group_id=group,
    session_timeout_ms=int(session),
    heartbeat_interval_ms=500,
    fetch_max_wait_ms=200,
)
said = 0
ends = time.monotonic() + 60  # Nobody may be left to kill it.
while time.monotonic() < ends:
    client.poll(200)
    if len(client.assignment()) != said:
        said = len(client.assignment())
        print(said, flush=True)
