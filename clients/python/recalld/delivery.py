"""A bounded buffer and its delivery thread, which retries each batch until recalld accepts or rejects it."""

from __future__ import annotations

import collections
import gzip
import http.client
import json
import logging
import random
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Set, Tuple

from .exit import watch_this_process

_logger = logging.getLogger("recalld")
_RETRYABLE = frozenset((429, 502, 503, 504))
_LARGEST_RECORD = 1024 * 1024
_LARGEST_ANSWER = 256 * 1024
_LONGEST_DELAY = 60.0
_REASONS = ("invalid", "oversized", "overflow", "rejected", "closed", "disabled", "failed")


@dataclass(frozen=True)
class Drop:
    """Items that were not delivered. reason: invalid (an invalid argument), oversized (more than 1 MiB), overflow (the buffer
    was full), rejected (by recalld), closed (the client was closed), disabled (no valid url or key), failed (a bug in the
    client).
    detail: the invalid field or the rejection code; never query text."""

    reason: str
    count: int
    detail: str


@dataclass(frozen=True)
class Stats:
    """Counts of items. Invariant: offered = sampled_out + sent + pending + sum of dropped.

    sampled_out: queries that `sample_rate` excluded. duplicates: sent items that recalld had already stored.
    last_error: why the last request failed; None if it succeeded.
    problems: sentences about invalid constructor arguments."""

    offered: int
    sampled_out: int
    sent: int
    pending: int
    duplicates: int
    dropped: Dict[str, int]
    last_error: Optional[str]
    problems: List[str]


class Delivery:
    """Sends items in the background. Without a url, drops all items."""

    def __init__(
        self,
        url: Optional[str],
        headers: Mapping[str, str],
        max_items: int,
        max_bytes: int,
        batch_size: int,
        flush_interval: float,
        timeout: float,
        on_drop: Optional[Callable[[Drop], object]],
    ) -> None:
        self._url, self._headers = url, headers
        self._max_items, self._max_bytes, self._batch_size = max_items, max_bytes, batch_size
        self._flush_interval, self._timeout = flush_interval, timeout
        self._on_drop = on_drop
        self.is_watched = on_drop is not None
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._gzips = True
        self.start_empty()

    def start_empty(self) -> None:
        """Resets the state. Also called in a forked child: the parent sends the buffered items, and its thread does not
        exist in the child."""
        # Reentrant, because a signal handler may call track() while the same thread holds the lock.
        self._changed = threading.Condition(threading.RLock())
        self._waiting: Deque[Tuple[str, bytes]] = collections.deque()
        self._waiting_bytes = self._under_way = self._under_way_bytes = 0
        self._entered = self._flush_target = 0
        self._offered = self._sampled_out = self._sent = self._duplicates = 0
        self._dropped: Dict[str, int] = dict.fromkeys(_REASONS, 0)
        self._last_error: Optional[str] = None
        self._told: Set[str] = set()
        self._closing = self._hurried = self._stopped = False
        self._thread: Optional[threading.Thread] = None

    def offer(self, path: str, item: bytes) -> None:
        most = min(_LARGEST_RECORD, self._max_bytes)
        if self._url is None:
            self.refuse("disabled", "the client has no usable url or api_key")
        elif len(item) > most:
            self.refuse("oversized", f"it is larger than {most} bytes")
        elif self._closing:
            self.refuse("closed", "the client is closed")
        else:
            self._drop("overflow", self._push(path, item), "the buffer was full")

    def refuse(self, reason: str, detail: str) -> None:
        """Counts a call whose item is dropped without being buffered."""
        with self._changed:
            self._offered += 1
        self._drop(reason, 1, detail)

    def sample_out(self) -> None:
        with self._changed:
            self._offered += 1
            self._sampled_out += 1

    def flush(self, timeout: float) -> bool:
        with self._changed:
            target = self._entered
            self._flush_target = max(self._flush_target, target)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._left() >= target, timeout)

    def start_closing(self) -> None:
        """Accepts no more items, and immediately sends the buffered items."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def close(self, timeout: float) -> bool:
        self.start_closing()
        is_done = self.flush(timeout)
        with self._changed:
            self._stopped = True
            left = len(self._waiting) + self._under_way
            self._waiting.clear()
            self._waiting_bytes = self._under_way = self._under_way_bytes = 0
            self._changed.notify_all()
        self._drop("closed", left, "it was not delivered before the client was closed")
        return is_done

    def stats(self, problems: List[str]) -> Stats:
        with self._changed:
            pending = len(self._waiting) + self._under_way
            dropped = dict(self._dropped)
            return Stats(
                self._offered,
                self._sampled_out,
                self._sent,
                pending,
                self._duplicates,
                dropped,
                self._last_error,
                list(problems),
            )

    def _left(self) -> int:
        """Returns how many items are no longer buffered or in flight."""
        return self._entered - len(self._waiting) - self._under_way

    def _push(self, path: str, item: bytes) -> int:
        """Adds an item, and returns the number of dropped items. If the buffer is full, drops the oldest items, or the
        new item if the items in flight leave no room."""
        with self._changed:
            self._offered += 1
            self._entered += 1
            if self._under_way >= self._max_items or self._under_way_bytes + len(item) > self._max_bytes:
                return 1
            dropped = 0
            while not self._has_room(item):
                self._waiting_bytes -= len(self._waiting.popleft()[1])
                dropped += 1
            self._waiting.append((path, item))
            self._waiting_bytes += len(item)
            self._keep_running()
            if len(self._waiting) == 1 or len(self._waiting) >= self._batch_size:
                self._changed.notify_all()
            return dropped

    def _has_room(self, item: bytes) -> bool:
        held = self._waiting_bytes + self._under_way_bytes + len(item)
        return len(self._waiting) + self._under_way < self._max_items and held <= self._max_bytes

    def _keep_running(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            # A daemon thread does not keep the process alive.
            watch_this_process()
            self._thread = threading.Thread(target=self._run, name="recalld", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # No thread is available, or the interpreter is exiting. The next call tries again.
                self._thread = None

    def _drop(self, reason: str, count: int, detail: str) -> None:
        if count == 0:
            return
        with self._changed:
            self._dropped[reason] += count
        self._tell(reason, count, detail)

    def _tell(self, reason: str, count: int, detail: str) -> None:
        """Calls `on_drop`, never while holding the lock, because the callback may be slow. Without a callback, logs the
        first drop for each reason."""
        if count == 0:
            return
        try:
            if self._on_drop is not None:
                self._on_drop(Drop(reason, count, detail))
            elif reason not in self._told and reason != "closed":
                self._told.add(reason)
                _logger.warning("Dropped %d queries or feedback items (%s): %s.", count, reason, detail)
        except Exception:
            pass  # An error in the host's callback or log handler must not stop delivery.

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or bool(self._waiting))
                self._changed.wait_for(self._is_due, self._flush_interval)
                if self._stopped:
                    return
                path, batch = self._take()
            try:
                self._deliver(path, batch)
            except Exception as error:  # A bug here may lose this batch, but must not affect the host or later batches.
                self._settle(batch, "failed", len(batch), type(error).__name__)
                self._pause(1.0)

    def _is_due(self) -> bool:
        is_full = len(self._waiting) >= self._batch_size
        return self._stopped or self._closing or is_full or self._left() < self._flush_target

    def _take(self) -> Tuple[str, List[bytes]]:
        """Removes and returns the oldest items of one kind, in order of arrival."""
        path = self._waiting[0][0]
        batch: List[bytes] = []
        while self._waiting and self._waiting[0][0] == path and len(batch) < self._batch_size:
            batch.append(self._waiting.popleft()[1])
        size = sum(map(len, batch))
        self._waiting_bytes -= size
        self._under_way += len(batch)
        self._under_way_bytes += size
        return path, batch

    def _deliver(self, path: str, batch: List[bytes]) -> None:
        attempt = 0
        while not self._stopped:
            status, retry_after, answer = self._post(path, batch)
            if 200 <= status < 300:
                self._last_error = None
                codes, duplicates = _verdict(answer, len(batch))
                self._settle(batch, "rejected", len(codes), ", ".join(sorted(set(codes))), duplicates)
                return
            self._last_error = f"HTTP {status}" if status else answer
            if status == 413 and len(batch) > 1:
                half = len(batch) // 2
                self._deliver(path, batch[:half])
                batch = batch[half:]
            elif status == 415 and self._gzips:
                self._gzips = False
            elif status == 0 or status in _RETRYABLE:
                jitter = random.uniform(0, min(_LONGEST_DELAY, 0.5 * 2 ** min(attempt, 10)))
                self._pause(min(_LONGEST_DELAY, retry_after + jitter))
                attempt += 1
            else:
                self._settle(batch, "rejected", len(batch), f"http_{status}")
                return

    def _post(self, path: str, batch: List[bytes]) -> Tuple[int, float, str]:
        """Returns the status (0 if there was no response), the number of seconds to wait, and the body or the error."""
        body = b"[" + b",".join(batch) + b"]"
        headers = dict(self._headers)
        if self._gzips:
            body, headers["Content-Encoding"] = gzip.compress(body, 6), "gzip"
        request = urllib.request.Request(str(self._url) + path, body, headers)
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return response.status, 0.0, response.read(_LARGEST_ANSWER).decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            with error:
                after = error.headers.get("Retry-After") or ""
                return error.code, float(after) if after.isdigit() else 0.0, ""
        except (OSError, http.client.HTTPException) as error:
            return 0, 0.0, type(getattr(error, "reason", error)).__name__

    def _settle(self, batch: List[bytes], reason: str, lost: int, detail: str, duplicates: int = 0) -> None:
        with self._changed:
            if self._stopped:  # close() has already counted these items as dropped.
                return
            self._under_way -= len(batch)
            self._under_way_bytes -= sum(map(len, batch))
            self._sent += len(batch) - lost
            self._duplicates += duplicates
            self._dropped[reason] += lost
            self._changed.notify_all()
        self._tell(reason, lost, detail)

    def _pause(self, seconds: float) -> None:
        """Waits between attempts. After close(), skips the first wait, to try once more immediately."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or (self._closing and not self._hurried), seconds)
            self._hurried = self._closing


def _verdict(answer: str, items: int) -> Tuple[List[str], int]:
    """Returns the codes of rejected items, and the number of duplicates."""
    try:
        body = json.loads(answer)
        return [str(one.get("code")) for one in body.get("rejected", [])][:items], int(body.get("duplicates", 0))
    except (ValueError, AttributeError, TypeError):
        return [], 0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Rejects redirects, because urllib would follow them with GET and return the target's response."""

    def redirect_request(self, *_: Any) -> None:
        return None
