#!/usr/bin/env python3
"""Runs the functional suites of unmodified Kafka clients against a broker and prints a table client x feature.

    run.py --bootstrap HOST:PORT      a broker that runs already
    run.py --server PATH              starts `PATH dev` on free ports, and stops it at the end

Exits nonzero if a case failed, was missing without a reason in skips.toml, or if the server died.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import install
from catalog import HERE, Catalog
from flaky_proxy import FlakyProxy
from report import print_report
from server import Server

SUITE_SECONDS_MAX = 420
STUB_CASE_SECONDS = 12
# The smallest files, so that the cases read across sealed ones.
SMALL_FILES = ["--set", "log.file_bytes_max=16777216", "--set", "log.file_reserve_bytes=16777216"]


def main():
    options = arguments()
    clients = options.clients.split(",") if options.clients else list(install.SUITES)
    unknown = [client for client in clients if client not in install.SUITES]
    if unknown:
        sys.exit(f"no such client: {', '.join(unknown)}; there are {', '.join(install.SUITES)}")
    commands, absent = install_suites(clients)
    server = start_server(options)
    bootstrap = options.bootstrap or server.bootstrap
    host, port = bootstrap.rsplit(":", 1)
    proxy = FlakyProxy(host, int(port)).start()
    started = time.monotonic()
    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(pool.map(lambda c: run_suite(c, commands, bootstrap, proxy.address, options), clients))
        died = server is not None and not server.alive()
        if died:
            print(f"the server died:\n{server.log_end()}", flush=True)
    finally:
        if server is not None:
            server.stop()
    results = {client: judge(client, outcome, absent, options) for client, outcome in zip(clients, outcomes)}
    counts = print_report(results, Catalog(), time.monotonic() - started, proxy.drops, options.json)
    if options.expect_all_fail:
        passed = [r["case"] for rows in results.values() for r in rows if r["status"] == "pass"]
        print(f"against the stub {len(passed)} cases passed: {', '.join(passed) or 'none, as it should be'}")
        return 1 if passed else 0
    return 1 if counts["fail"] or died else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap", help="HOST:PORT of a broker that runs already")
    parser.add_argument("--server", help="program to start as PROGRAM dev")
    parser.add_argument("--server-arg", action="append", default=[], help="one more argument for the server")
    parser.add_argument("--clients", help="comma-separated; default all")
    parser.add_argument("--case", action="append", help="only this case (may be repeated)")
    parser.add_argument("--json", help="file for the results, one JSON object per case")
    parser.add_argument("--jobs", type=int, default=3, help="suites at a time")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a case may take")
    parser.add_argument("--parallel", type=int, default=4, help="cases at a time in a suite")
    parser.add_argument("--expect-all-fail", action="store_true", help="run against the stub, where nothing may pass")
    options = parser.parse_args()
    if sum(map(bool, (options.bootstrap, options.server, options.expect_all_fail))) != 1:
        parser.error("give one of --bootstrap, --server, --expect-all-fail")
    if options.expect_all_fail:
        options.timeout, options.parallel = STUB_CASE_SECONDS, 12
    return options


def start_server(options):
    if options.expect_all_fail:
        python = install.virtual_environment(install.cache_folder())
        server = Server(str(python), first=[str(HERE / "stub_success.py")])
    elif options.server:
        server = Server(options.server, SMALL_FILES + options.server_arg)
    else:
        return None
    try:
        server.wait_ready()
    except RuntimeError:
        server.stop()
        raise
    return server


def install_suites(clients):
    """Commands by client, and reasons by client for those that this machine cannot run. One after the other: the
    suites share folders and two cores."""
    commands, absent = {}, {}
    cache = install.cache_folder()
    for client in clients:
        try:
            commands[client] = install.SUITES[client](cache)
        except install.Missing as reason:
            absent[client] = str(reason)
            print(f"SKIPPED suite {client}: {reason}", flush=True)
    return commands, absent


def run_suite(client, commands, bootstrap, flaky, options):
    """Runs one client's program and returns the JSON lines it printed, by case."""
    if client not in commands:
        return {}
    command = [*commands[client], "--bootstrap", bootstrap, "--flaky", flaky]
    command += ["--timeout", str(options.timeout), "--parallel", str(options.parallel)]
    for case in options.case or []:
        command += ["--case", case]
    environment = {**install.os.environ, "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    started = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environment
    )
    timer = threading.Timer(SUITE_SECONDS_MAX, process.kill)
    timer.start()
    noise = []
    threading.Thread(target=lambda: noise.extend(process.stderr), daemon=True).start()
    outcomes = {}
    for line in process.stdout:
        outcome = parsed(line)
        if outcome and "case" in outcome:
            outcomes[outcome["case"]] = outcome
            if outcome["status"] == "fail" and not options.expect_all_fail:
                print(f"FAIL {client} {outcome['case']} ({outcome['seconds']} s): {outcome['detail']}", flush=True)
    process.wait()
    timer.cancel()
    print(f"suite {client}: {len(outcomes)} cases in {time.monotonic() - started:.0f} s", flush=True)
    if process.returncode:
        print(f"suite {client} ended with {process.returncode}:\n{''.join(noise[-30:])}", flush=True)
    return outcomes


def parsed(line):
    try:
        value = json.loads(line)
        return value if isinstance(value, dict) else None
    except ValueError:
        return None


def judge(client, outcomes, absent, options):
    """The verdict on every case that this client should have."""
    catalog = Catalog()
    verdicts = []
    for case in catalog.cases(client):
        if options.case and case not in options.case:
            continue
        reason = catalog.skip_reason(client, case)
        row = {"client": client, "case": case, "seconds": 0.0, "status": "skip", "detail": reason}
        if client in absent:
            row["detail"] = absent[client]
        elif case in outcomes and reason:
            row |= {"status": "fail", "detail": "skips.toml names a case that the suite has"}
        elif case in outcomes:
            row = outcomes.pop(case)
        elif not reason:
            row |= {"status": "fail", "detail": "not run, and no reason in skips.toml"}
        verdicts.append(row)
    for case, row in outcomes.items():
        verdicts.append({**row, "status": "fail", "detail": f"{case} is not in cases.toml"})
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
