"""Installs what each suite needs into the cache folder, once, with the ordinary package tools.

Each function returns the command that starts the suite, or raises `Missing` with the reason to skip it aloud.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Missing(Exception):
    """A tool that the machine does not have."""


def cache_folder():
    folder = os.environ.get("TIDEMILL_CACHE") or HERE.parent.parent / ".cache"
    path = Path(folder).resolve() / "clients"
    path.mkdir(parents=True, exist_ok=True)
    return path


def python_suite(folder):
    """For suites in Python: the suite's folder under tests/clients."""

    def command(cache):
        return [str(virtual_environment(cache)), str(HERE / folder / "suite.py")]

    return command


def virtual_environment(cache):
    target = cache / "python"
    python = target / "bin" / "python"
    wanted = HERE / "requirements.txt"

    def build():
        run([sys.executable, "-m", "venv", "--clear", str(target)])
        run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(wanted)])

    once(target / "installed", [wanted], build)
    return python


def kafkajs_suite(cache):
    need("node", "npm")
    target = cache / "kafkajs"
    sources = [HERE / "kafkajs" / name for name in ("package.json", "package-lock.json")]

    def build():
        target.mkdir(exist_ok=True)
        for source in sources:
            shutil.copy(source, target)
        run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], cwd=target)

    once(target / "installed", sources, build)
    # Node finds packages beside the program, so the program is laid beside its packages.
    for source in (HERE / "kafkajs").glob("*.js"):
        shutil.copy(source, target)
    return ["node", str(target / "suite.js")]


def java_suite(cache):
    need("java", "javac", "mvn")
    target = cache / "java"
    pom, sources = HERE / "java" / "pom.xml", sorted((HERE / "java" / "src").glob("*.java"))

    def resolve():
        run(["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={target / 'libs'}"])

    def compile_sources():
        classes = target / "classes"
        shutil.rmtree(classes, ignore_errors=True)
        run(["javac", "-nowarn", "-cp", f"{target / 'libs'}/*", "-d", str(classes), *map(str, sources)])

    target.mkdir(exist_ok=True)
    once(target / "resolved", [pom], resolve)
    once(target / "compiled", [pom, *sources], compile_sources)
    return ["java", "-Xmx400m", "-XX:+UseSerialGC", "-cp", f"{target / 'classes'}:{target / 'libs'}/*", "Suite"]


def go_suite(folder):
    """For suites in Go: the module's folder under tests/clients."""

    def command(cache):
        need("go")
        program = cache / "go" / folder
        sources = [HERE / folder / name for name in ("go.mod", "go.sum")] + sorted((HERE / folder).glob("*.go"))
        sources.append(HERE / "goharness" / "harness.go")
        once(
            program.with_suffix(".built"),
            sources,
            lambda: run(["go", "build", "-o", str(program), "."], cwd=HERE / folder),
        )
        return [str(program)]

    return command


def kcat_suite(cache):
    """kcat from PATH, else unpacked from the distribution's packages into the cache."""
    python = str(virtual_environment(cache))
    found = shutil.which("kcat")
    if not found:
        found = unpack_kcat(cache / "kcat")
    return [python, str(HERE / "kcat" / "suite.py"), "--kcat", found]


def unpack_kcat(target):
    need("apt-get", "dpkg", "apt-cache")
    program = target / "kcat.sh"
    if program.exists():
        return str(program)
    target.mkdir(exist_ok=True)
    try:
        try:
            wanted = ["kcat", *missing_libraries()]
        except subprocess.CalledProcessError:  # A new machine has no package lists yet.
            run(["apt-get", "update", "-q"])
            wanted = ["kcat", *missing_libraries()]
        run(["apt-get", "download", *wanted], cwd=target)
    except subprocess.CalledProcessError as error:
        raise Missing(f"kcat is not on PATH and its packages cannot be had: {error}") from error
    for package in sorted(target.glob("*.deb")):
        run(["dpkg", "-x", str(package), str(target / "root")])
    libraries = ":".join(str(p) for p in sorted((target / "root").glob("usr/lib/*")) + [target / "root" / "usr" / "lib"])
    real = target / "root" / "usr" / "bin" / "kcat"
    draft = target / "kcat.sh.new"
    draft.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {real} "$@"\n')
    draft.chmod(0o755)
    draft.rename(program)
    return str(program)


def missing_libraries():
    """The packages that kcat depends on and that are not installed."""
    listing = run(
        ["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks",
         "--no-replaces", "--no-enhances", "kcat"],
    )
    names = [line.strip() for line in listing.splitlines() if line and not line.startswith((" ", "<"))]
    return [name for name in names if name != "kcat" and not installed(name)]


def installed(package):
    status = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True, check=False
    )
    return "install ok installed" in status.stdout


SUITES = {
    "confluent": python_suite("confluent"),
    "kafka_python": python_suite("kafka_python"),
    "aiokafka": python_suite("aiokafka"),
    "kafkajs": kafkajs_suite,
    "java": java_suite,
    "franz": go_suite("franz"),
    "sarama": go_suite("sarama"),
    "kcat": kcat_suite,
}


def need(*tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        raise Missing(f"not on this machine: {', '.join(missing)}")


def once(stamp, sources, build):
    """Builds unless the stamp was left by the same sources."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    stamp.parent.mkdir(parents=True, exist_ok=True)
    build()
    stamp.write_text(digest.hexdigest())


def run(command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
        raise subprocess.CalledProcessError(done.returncode, command[:4])
    return done.stdout
