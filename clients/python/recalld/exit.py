"""Sends the buffered items when a process ends, no matter how the process was started. Clears the buffer in a forked
process."""

from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from .delivery import Delivery

_EXIT_SECONDS = 2.0

# Weak references suffice, because the thread of a client with buffered items keeps the client alive.
_open: weakref.WeakSet[Delivery] = weakref.WeakSet()
_watched_pid: Optional[int] = None


def watch(delivery: Delivery) -> None:
    _open.add(delivery)


def forget(delivery: Delivery) -> None:
    _open.discard(delivery)


def watch_this_process() -> None:
    """Registers handlers for processes that end without running atexit handlers, such as children of multiprocessing
    and of Celery's prefork pool, which end with os._exit. Uses only modules that the host has already imported."""
    global _watched_pid
    if _watched_pid == os.getpid():
        return
    _watched_pid = os.getpid()
    try:
        processes: Any = sys.modules.get("multiprocessing.process")
        utilities: Any = sys.modules.get("multiprocessing.util")
        if processes is not None and utilities is not None and processes.parent_process() is not None:
            utilities.Finalize(None, send_what_is_left, exitpriority=0)
        signals: Any = sys.modules.get("celery.signals")
        if signals is not None:
            signals.worker_process_shutdown.connect(_on_celery_shutdown, weak=False)
    except Exception:
        pass  # The atexit handler still runs.


def _on_celery_shutdown(**_: object) -> None:
    send_what_is_left()


def flush_all(timeout: float) -> None:
    """Sends the buffered items of all clients, and waits at most `timeout` seconds in total."""
    until = time.monotonic() + timeout
    for delivery in list(_open):
        delivery.flush(max(0.0, until - time.monotonic()))


@atexit.register
def send_what_is_left() -> None:
    until = time.monotonic() + _EXIT_SECONDS
    deliveries = list(_open)
    for delivery in deliveries:
        delivery.start_closing()
    for delivery in deliveries:
        forget(delivery)
        delivery.close(max(0.0, until - time.monotonic()))
        stats = delivery.stats([])
        left = stats.dropped["closed"]
        if left > 0 and not delivery.is_watched:
            why = stats.last_error or "the process ended before they were sent"
            lost = "1 query or feedback item was" if left == 1 else f"{left} queries and feedback items were"
            sys.stderr.write(f"recalld: {lost} not delivered: {why}.\n")


def _after_fork() -> None:
    for delivery in list(_open):
        delivery.start_empty()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
