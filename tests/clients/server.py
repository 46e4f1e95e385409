"""Starts a server for the suites on free loopback ports and knows when it is ready."""

import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Server:
    """`PROGRAM dev` with data in a temporary folder. Its output goes to a file that is shown if it fails to start.

    `first` are arguments before `dev` (the script, if the program is an interpreter), `extra` are the last ones.
    """

    def __init__(self, program, extra=(), first=()):
        self._folder = tempfile.TemporaryDirectory(prefix="tidemill-clients-")
        kafka, http, postgres = free_ports(3)
        self.bootstrap = f"127.0.0.1:{kafka}"
        self.log_path = Path(self._folder.name) / "server.log"
        command = [program, *first, "dev", "--data", f"{self._folder.name}/data", "--kafka", self.bootstrap]
        command += ["--http", f"127.0.0.1:{http}", "--postgres", f"127.0.0.1:{postgres}", *extra]
        with open(self.log_path, "wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait_ready(self, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"the server ended with {self._process.returncode}:\n{self.log_end()}")
            if api_versions_answered(self.bootstrap):
                return
            time.sleep(0.05)
        raise RuntimeError(f"the server was not ready in {seconds} s:\n{self.log_end()}")

    def alive(self):
        return self._process.poll() is None

    def log_end(self, lines=40):
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def stop(self):
        if self.alive():
            os.kill(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._folder.cleanup()


def api_versions_answered(bootstrap):
    """Whether the address answers an ApiVersions 0 request with no error."""
    host, port = bootstrap.rsplit(":", 1)
    client = b"ready?"
    body = struct.pack(">hhih", 18, 0, 7, len(client)) + client
    try:
        with socket.create_connection((host, int(port)), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            answer = connection.recv(10, socket.MSG_WAITALL)
            return len(answer) == 10 and struct.unpack(">ih", answer[4:]) == (7, 0)
    except OSError:
        return False
