"""Runs the cases of one Python client suite and prints one JSON line per case.

A case is a function registered with `@case("feature.name")`; it gets a `Run` and fails by raising. Each runs in a
thread of its own under a time limit, several at a time, so a case that hangs costs its limit and nothing else.
"""

import argparse
import asyncio
import inspect
import json
import os
import sys
import threading
import time
import traceback
import uuid
from concurrent.futures import ThreadPoolExecutor

_CASES = {}
_PRINTING = threading.Lock()


def case(name):
    """Registers a case under its name in cases.toml."""

    def register(function):
        assert name not in _CASES, name
        _CASES[name] = function
        return function

    return register


class Run:
    """What a case is given: where the broker is, names nobody else uses, and clean-up at its end."""

    def __init__(self, client, name, options):
        self.bootstrap = options.bootstrap
        self.flaky = options.flaky
        self.admin = None  # The suite keeps its admin client here.
        self._prefix = f"{client}-{name}".replace("_", "-")
        self._cleanups = []

    def topic(self):
        return f"{self._prefix}-{uuid.uuid4().hex[:8]}"

    def group(self):
        return f"g-{self._prefix}-{uuid.uuid4().hex[:8]}"

    def at_end(self, function, *arguments):
        """Calls `function` after the case, last registered first, whatever happened. Its errors are ignored."""
        self._cleanups.append((function, arguments))

    def clean_up(self):
        for function, arguments in reversed(self._cleanups):
            try:
                function(*arguments)
            except Exception:  # A client whose case failed may fail to close too; the case has its verdict already.
                pass

    async def clean_up_async(self):
        for function, arguments in reversed(self._cleanups):
            try:
                await asyncio.wait_for(function(*arguments), 5)
            except Exception:
                pass


def equal(actual, expected, what="value"):
    assert actual == expected, f"{what}: got {shorten(actual)}, expected {shorten(expected)}"


def shorten(value):
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}... ({len(text)} characters)"


def eventually(check, what, seconds=15.0, pause=0.1):
    """Calls `check` until it returns something true, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(pause)


def _execute(client, name, options):
    outcome = {"client": client, "case": name, "status": "fail", "seconds": 0.0, "detail": ""}
    started = time.monotonic()
    done = threading.Event()
    run = Run(client, name, options)

    def body():
        try:
            function = _CASES[name]
            if inspect.iscoroutinefunction(function):
                asyncio.run(_run_async(function, run, options.timeout))
            else:
                function(run)
            outcome["status"] = "pass"
        except BaseException as error:
            outcome["detail"] = _describe(error)
        outcome["seconds"] = round(time.monotonic() - started, 2)
        done.set()
        run.clean_up() if not inspect.iscoroutinefunction(_CASES[name]) else None

    threading.Thread(target=body, daemon=True).start()
    if not done.wait(options.timeout + 1):
        return {**outcome, "seconds": round(time.monotonic() - started, 2), "detail": f"no end in {options.timeout} s"}
    return outcome


async def _run_async(function, run, timeout):
    try:
        await asyncio.wait_for(function(run), timeout)
    finally:
        await run.clean_up_async()


def _describe(error):
    frames = traceback.extract_tb(error.__traceback__)
    here = os.path.dirname(os.path.abspath(__file__))
    ours = [frame for frame in frames if frame.filename.startswith(here) and "harness.py" not in frame.filename]
    place = " < ".join(f"{os.path.basename(f.filename)}:{f.lineno}" for f in reversed(ours[-3:]))
    return f"{type(error).__name__}: {shorten(str(error))} at {place}"


def main(client):
    parser = argparse.ArgumentParser(description=f"Functional suite of {client}")
    parser.add_argument("--bootstrap", required=True, help="HOST:PORT of the broker")
    parser.add_argument("--flaky", default="", help="HOST:PORT of the proxy that drops connections")
    parser.add_argument("--case", action="append", help="run only this case (may be repeated)")
    parser.add_argument("--timeout", type=float, default=45.0, help="seconds a case may take")
    parser.add_argument("--parallel", type=int, default=4, help="cases at a time")
    options = parser.parse_args()
    names = [name for name in _CASES if not options.case or name in options.case]
    print(json.dumps({"client": client, "plan": names}), flush=True)
    with ThreadPoolExecutor(options.parallel) as pool:
        list(pool.map(lambda name: _report(_execute(client, name, options)), names))
    # Threads of cases that hang must not keep the process.
    sys.stdout.flush()
    os._exit(0)


def _report(outcome):
    with _PRINTING:
        print(json.dumps(outcome), flush=True)
