"""A group member in a process of its own, to be killed: member.py BOOTSTRAP TOPIC GROUP SESSION_TIMEOUT_MS."""

import asyncio
import sys
import time

from aiokafka import AIOKafkaConsumer


async def main(bootstrap, topic, group, session):
    client = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        session_timeout_ms=int(session),
        heartbeat_interval_ms=500,
    )
    await client.start()
    said = 0
    ends = time.monotonic() + 60  # Nobody may be left to kill it.
    while time.monotonic() < ends:
        await client.getmany(timeout_ms=200)
        if len(client.assignment()) != said:
            said = len(client.assignment())
            print(said, flush=True)


asyncio.run(main(*sys.argv[1:]))
