"""A running daemon with an embedded database, and real programs that use the client.

RECALLD_COMMAND starts recalld; default: the build that `npm run build` created.
"""

from __future__ import annotations

import http.server
import json
import os
import queue
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).resolve().parent / "programs"
COMMAND = shlex.split(os.environ.get("RECALLD_COMMAND", f"node {ROOT / 'dist/cli/main.js'}"))
PIPELINES = [f"test-{number}" for number in range(60)]


class Program:
    """A process whose output is read while it runs."""

    def __init__(self, command: list[str], cwd: Path, env: Optional[dict[str, str]] = None) -> None:
        settings = {**os.environ, "NO_PROXY": "*", "PYTHONUNBUFFERED": "1", **(env or {})}
        self.process = subprocess.Popen(
            command, cwd=cwd, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.output: list[str] = []
        self._lines: queue.Queue[Optional[str]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, pattern: str, times: int = 1, timeout: float = 120) -> re.Match[str]:
        """Waits until `times` lines match the pattern, and returns the match in the last of these lines."""
        until = time.monotonic() + timeout
        while True:
            try:
                line = self._lines.get(timeout=max(0.1, until - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"no {pattern} in the output:\n{''.join(self.output)}")
            self.output.append(line)
            found = re.search(pattern, line)
            times -= found is not None
            if found is not None and times == 0:
                return found

    def stop(self, sent: int = signal.SIGTERM) -> str:
        """Sends a signal, waits until the process ends, and returns its entire output."""
        if self.process.poll() is None:
            self.process.send_signal(sent)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        while True:
            line = self._lines.get(timeout=60)
            if line is None:
                return "".join(self.output)
            self.output.append(line)


class Retriever:
    """An HTTP retriever that the daemon calls in golden runs."""

    def __init__(self) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                body = json.dumps({"results": [{"id": "kb-1", "score": 0.75}, {"id": "kb-2", "score": 0.5}]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}/search"


class Daemon:
    def __init__(self, folder: Path) -> None:
        self._folder, self._exports = folder, 0
        retriever = Retriever()
        pipelines = ", ".join(
            f'{{name: {name}, retriever: {{kind: http, url: "{retriever.url}", body: {{query: "{{{{text}}}}"}},'
            " results: {list: results, id: id, score: score}},"
            " sampling: {rate: 1, max_per_minute: 1000000}, privacy: {text: keep}}"
            for name in PIPELINES
        )
        (folder / "recalld.yaml").write_text(
            f"server: {{port: 0, max_requests_per_minute: 1000000}}\npipelines: [{pipelines}]\n", "utf-8"
        )
        self._program = Program([*COMMAND, "serve"], folder)
        ready = json.loads(self._program.wait_for('"msg":"recalld is ready"').string)
        self.url: str = ready["url"]

    def stop(self) -> None:
        self._program.stop()

    def run(self, *line: str) -> Any:
        """Runs a command, and returns its JSON output."""
        done = subprocess.run([*COMMAND, *line, "--json"], cwd=self._folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def exported(self, table: str, pipeline: str) -> list[dict[str, Any]]:
        """Returns the rows that `recalld export` writes, in the order in which they occurred."""
        self._exports += 1
        folder = self._folder / f"export-{self._exports}"
        line = ["export", "--to", str(folder), "--tables", table, "--pipeline", pipeline, "--format", "jsonl"]
        self.run(*line)
        rows = [json.loads(line) for file in sorted(folder.glob(f"{table}/*/*.jsonl")) for line in file.open()]
        return sorted(rows, key=lambda row: row.get("occurred_at") or "")

    def stored(self, pipeline: str) -> set[str]:
        """Returns the ids of the stored live queries."""
        return {row["query_id"] for row in self.exported("queries", pipeline)}

    def queries(self, pipeline: str) -> list[dict[str, Any]]:
        """Returns the stored live queries. `found` contains a query's ranked documents as (id, score) pairs."""
        queries = self.exported("queries", pipeline)
        results = sorted(self.exported("results", pipeline), key=lambda row: row["rank"])
        for one in queries:
            one["found"] = [(row["document_id"], row["score"]) for row in results if row["query_id"] == one["query_id"]]
        return queries


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    os.environ["NO_PROXY"] = "*"
    running = Daemon(tmp_path_factory.mktemp("recalld"))
    yield running
    running.stop()


_unused = iter(PIPELINES)


@pytest.fixture
def pipeline() -> str:
    """Returns the name of a pipeline that no other test uses."""
    return next(_unused)


class Service:
    """A web service or worker from the folder `programs` that reports to the daemon."""

    def __init__(self, daemon: Daemon, pipeline: str, command: list[str], env: Optional[dict[str, str]] = None) -> None:
        settings = {"RECALLD_URL": daemon.url, "RECALLD_PIPELINE": pipeline, **(env or {})}
        self.program = Program([sys.executable, "-m", *command], PROGRAMS, settings)
        self.stop, self.wait_for = self.program.stop, self.program.wait_for
        self.url = ""

    def get(self, path: str, headers: Optional[dict[str, str]] = None) -> tuple[str, dict[str, str]]:
        request = urllib.request.Request(self.url + path, None, headers or {})
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.read().decode(), {name.lower(): value for name, value in response.headers.items()}


@pytest.fixture
def start(daemon: Daemon, pipeline: str) -> Iterator[Any]:
    """Starts a service and waits until it listens."""
    services: list[Service] = []

    def begin(command: str, ready: str, times: int = 1, env: Optional[dict[str, str]] = None) -> Service:
        # Not every server prints the port that the operating system chose for port 0.
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        service = Service(daemon, pipeline, command.format(port=port).split(), env)
        services.append(service)
        service.url = f"http://127.0.0.1:{port}"
        service.wait_for(ready, times)
        return service

    yield begin
    for service in services:
        if service.program.process.poll() is None:
            service.program.process.kill()
