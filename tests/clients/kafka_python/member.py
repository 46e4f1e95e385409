"""A group member in a process of its own, to be killed: member.py BOOTSTRAP TOPIC GROUP SESSION_TIMEOUT_MS."""

import sys

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
while True:
    client.poll(200)
    if len(client.assignment()) != said:
        said = len(client.assignment())
        print(said, flush=True)
