"""Tests the client in real servers and workers that a signal ends before their batch is due."""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAMS, Daemon


def settings_of(daemon: Daemon, pipeline: str, **env: str) -> dict[str, str]:
    return {**os.environ, "RECALLD_URL": daemon.url, "RECALLD_PIPELINE": pipeline, "NO_PROXY": "*", **env}


def ask(service: Any, path: str, count: int = 40) -> set[str]:
    """Sends requests concurrently, and returns the process ids in the responses."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return {body for body, _ in pool.map(lambda number: service.get(path.format(number)), range(count))}


@pytest.mark.parametrize("preload", ["", "--preload"])
def test_gunicorn_workers_send_buffered_items(daemon: Daemon, pipeline: str, start: Any, preload: str) -> None:
    service = start(f"gunicorn --workers 2 --bind 127.0.0.1:{{port}} {preload} wsgi_service:application", "Listening at")
    pids = ask(service, "/q-{}")
    output = service.stop()
    stored = daemon.stored(pipeline)
    assert {one for one in stored if one.startswith("q-")} == {f"q-{number}" for number in range(40)}, output
    imported = {one for one in stored if one.startswith("at-import-")}
    assert len(imported) == (1 if preload else 2), output
    if preload:
        assert imported == {f"at-import-{service.program.process.pid}"}
        assert not imported & {f"at-import-{pid}" for pid in pids}


def test_gunicorn_threads_and_restarting_workers_lose_no_items(daemon: Daemon, pipeline: str, start: Any) -> None:
    line = "gunicorn --workers 1 --threads 4 --max-requests 10 --bind 127.0.0.1:{port} wsgi_service:application"
    service = start(line, "Listening at")
    ask(service, "/q-{}")
    output = service.stop()
    assert {f"q-{number}" for number in range(40)} <= daemon.stored(pipeline), output


@pytest.mark.parametrize(
    ("command", "ready", "times"),
    [
        ("uvicorn --port {port} asgi_service:app", "Uvicorn running on", 1),
        ("uvicorn --port {port} --workers 2 asgi_service:app", "startup complete", 2),
        ("gunicorn -w 2 -b 127.0.0.1:{port} -k uvicorn_worker.UvicornWorker asgi_service:app", "startup complete", 2),
    ],
)
def test_uvicorn_workers_send_buffered_items(
    daemon: Daemon, pipeline: str, start: Any, command: str, ready: str, times: int
) -> None:
    service = start(command, ready, times)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: service.get(f"/async/q-{n}", {"x-session": f"s-{n % 2}"}), range(40)))
    output = service.stop()
    texts = sorted(row["text"] for row in daemon.exported("queries", pipeline))
    assert texts == sorted(f"q-{number}" for number in range(40)), output


def test_celery_prefork_workers_send_buffered_items(
    daemon: Daemon, pipeline: str, start: Any, tmp_path: Path
) -> None:
    env = {"BROKER_FOLDER": str(tmp_path)}
    line = "celery --app celery_service worker --pool prefork --concurrency 2 --loglevel INFO"
    service = start(line, " ready", env=env)
    sender = "import celery_service\nfor n in range(20): celery_service.search.delay(f'q-{n}')"
    subprocess.run([sys.executable, "-c", sender], cwd=PROGRAMS, env=settings_of(daemon, pipeline, **env), check=True)
    service.wait_for("succeeded in", times=20)
    output = service.stop()
    assert daemon.stored(pipeline) == {f"q-{number}" for number in range(20)}, output


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_children_send_buffered_items(daemon: Daemon, pipeline: str, method: str) -> None:
    line = [sys.executable, "processes.py", method]
    env = settings_of(daemon, pipeline)
    done = subprocess.run(line, cwd=PROGRAMS, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert daemon.stored(pipeline) == {"parent", *(f"q-{number}" for number in range(9))}
