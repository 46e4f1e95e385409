"""A proxy that makes producers retry: it drops a connection after the broker answered a Produce, before the answer
reaches the client. The records are then in the log, and only the broker's memory of producers keeps them single.

Every connection gets two Produce answers and dies at the third. The broker's address inside answers is replaced by the
proxy's, byte for byte (same length), so that clients keep coming here. Not here: TLS, several brokers.
"""

import asyncio
import struct
import threading

PRODUCE = 0
ANSWERS_BEFORE_DROP = 2


class FlakyProxy:
    """Listens on a free loopback port from `start` on, until the process ends."""

    def __init__(self, host, port):
        self._target = (host, port)
        self.address = ""
        self.drops = 0

    def start(self):
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True).start()
        assert ready.wait(10), "the proxy did not start"
        return self

    async def _serve(self, ready):
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        hosts = {self._target[0], "127.0.0.1", "localhost"}
        self._rewrites = [(h.encode() + struct.pack(">i", self._target[1]), port) for h in hosts]
        ready.set()
        async with server:
            await server.serve_forever()

    async def _connection(self, client_reader, client_writer):
        try:
            broker_reader, broker_writer = await asyncio.open_connection(*self._target)
        except OSError:
            client_writer.close()
            return
        produces = set()
        tasks = [
            asyncio.create_task(self._requests(client_reader, broker_writer, produces)),
            asyncio.create_task(self._answers(broker_reader, client_writer, produces)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for writer in (client_writer, broker_writer):
            writer.close()

    async def _requests(self, reader, writer, produces):
        while frame := await _frame(reader):
            key, _version, correlation = struct.unpack(">hhi", frame[4:12])
            if key == PRODUCE:
                produces.add(correlation)
            writer.write(frame)
            await writer.drain()

    async def _answers(self, reader, writer, produces):
        answered = 0
        while frame := await _frame(reader):
            (correlation,) = struct.unpack(">i", frame[4:8])
            if correlation in produces:
                produces.discard(correlation)
                answered += 1
                if answered > ANSWERS_BEFORE_DROP:
                    self.drops += 1
                    return
            elif len(frame) < 1_000_000:
                for address, port in self._rewrites:
                    frame = frame.replace(address, address[:-4] + struct.pack(">i", port))
            writer.write(frame)
            await writer.drain()


async def _frame(reader):
    """One length-prefixed frame with its prefix, or nothing at the end."""
    try:
        prefix = await reader.readexactly(4)
        return prefix + await reader.readexactly(struct.unpack(">i", prefix)[0])
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
