"""The client that a service calls. Its methods put items into a buffer and return; delivery.py sends them."""

from __future__ import annotations

import atexit
import os
import sys
import time
import urllib.parse
import uuid
import weakref
from typing import Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from .delivery import Delivery, Drop, Stats
from .records import (
    Document,
    FeedbackKind,
    Identifier,
    InvalidField,
    Stage,
    Time,
    feedback_item,
    identifier,
    query_item,
)

_QUERIES, _FEEDBACK = "/v1/queries", "/v1/feedback"
_EXIT_SECONDS = 2.0


class Client:
    """Reports queries and feedback; use one client per process. Calls whose arguments match the signature never raise and
    never wait for the network. Items that cannot be delivered are dropped, oldest first, and counted. The client also works
    in forked processes, such as those of gunicorn and uWSGI.

    url: address of recalld. api_key: a key with the scope `ingest`. pipeline: name of a pipeline in recalld's config.
    max_queue, max_queue_bytes: maximum of buffered and in-flight items. batch_size: items per request, at most 1,000.
    flush_interval: maximum wait of an item in seconds. timeout: seconds per request.
    on_drop: called with a Drop, in the calling thread or the delivery thread; must return quickly.
    """

    def __init__(
        self,
        url: str,
        *,
        pipeline: Optional[str] = None,
        api_key: Optional[str] = None,
        max_queue: int = 10_000,
        max_queue_bytes: int = 16 * 1024 * 1024,
        batch_size: int = 100,
        flush_interval: float = 1.0,
        timeout: float = 5.0,
        on_drop: Optional[Callable[[Drop], object]] = None,
    ) -> None:
        self._pipeline = pipeline
        address, headers, self._problems = _address(url, api_key)
        self._delivery = Delivery(
            address, headers, max_queue, max_queue_bytes, batch_size, flush_interval, timeout, on_drop
        )
        _open.add(self._delivery)

    def track(
        self,
        *,
        results: Optional[Iterable[Union[Identifier, Document]]] = None,
        text: Optional[str] = None,
        id: Optional[Identifier] = None,
        pipeline: Optional[str] = None,
        occurred_at: Optional[Time] = None,
        embedding: Optional[Sequence[float]] = None,
        top_k: Optional[int] = None,
        session_id: Optional[Identifier] = None,
        trace_id: Optional[str] = None,
        latency_ms: Optional[float] = None,
        stages: Optional[Iterable[Stage]] = None,
        error: Union[None, str, BaseException] = None,
        segments: Optional[Mapping[str, object]] = None,
        user_id: Optional[Identifier] = None,
        versions: Optional[Mapping[str, str]] = None,
        sampling: Optional[Mapping[str, float]] = None,
    ) -> str:
        """Reports a query with its results, best first, and returns the query id, which feedback refers to. The fields are
        the same as in POST /v1/queries. `results` may be omitted only if there is an `error`."""
        try:
            name = identifier(id, "id") or str(uuid.uuid4())
        except InvalidField:
            name = str(uuid.uuid4())
        fields = {
            "text": text,
            "top_k": top_k,
            "session_id": session_id,
            "trace_id": trace_id,
            "latency_ms": latency_ms,
            "stages": stages,
            "user_id": user_id,
            "versions": versions,
            "sampling": sampling,
        }
        of = self._pipeline if pipeline is None else pipeline
        self._offer(
            _QUERIES, lambda: query_item(name, of, results, occurred_at, embedding, error, segments, fields)
        )
        return name

    def feedback(
        self,
        query_id: Identifier,
        kind: FeedbackKind,
        *,
        value: Union[None, str, bool, float] = None,
        document_id: Optional[Identifier] = None,
        rank: Optional[int] = None,
        id: Optional[Identifier] = None,
        pipeline: Optional[str] = None,
        occurred_at: Optional[Time] = None,
        user_id: Optional[Identifier] = None,
        comment: Optional[str] = None,
    ) -> None:
        """Reports a user's feedback on the answer to a query."""
        fields = {"value": value, "document_id": document_id, "rank": rank, "user_id": user_id, "comment": comment}
        of = self._pipeline if pipeline is None else pipeline
        self._offer(
            _FEEDBACK,
            lambda: feedback_item(
                identifier(id, "id") or str(uuid.uuid4()), of, query_id, kind, occurred_at, fields
            ),
        )

    def flush(self, timeout: float = 5.0) -> bool:
        """Sends all buffered items, waiting at most `timeout` seconds. Returns True if all were sent or dropped."""
        return self._delivery.flush(timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Accepts no more items and sends buffered items for at most `timeout` seconds; drops the rest. Returns True if
        none was left."""
        _open.discard(self._delivery)
        return self._delivery.close(timeout)

    def stats(self) -> Stats:
        """Returns how many items this process has offered, sent, buffered and dropped."""
        return self._delivery.stats(self._problems)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _offer(self, path: str, make: Callable[[], bytes]) -> None:
        try:
            item = make()
        except InvalidField as error:
            self._delivery.refuse("invalid", str(error))
        except Exception:  # The message of another error comes from the host and may quote personal data.
            self._delivery.refuse("invalid", "the item is malformed")
        else:
            self._delivery.offer(path, item)


def _address(url: object, api_key: object) -> Tuple[Optional[str], Dict[str, str], List[str]]:
    """Returns the address (None if it or the key is invalid), the headers, and the problems."""
    problems: List[str] = []
    headers = {"Content-Type": "application/json", "User-Agent": "recalld-python/0.1.0"}
    try:
        parts = urllib.parse.urlsplit(str(url))
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        is_usable = False
    if not is_usable:
        problems.append("url must be an http or https address without user name and password; nothing is sent.")
    # Keys read from a file may end with a line feed.
    key = str(api_key or "").strip()
    if not all("!" <= character <= "~" for character in key):
        problems.append("api_key must be visible ASCII characters; nothing is sent.")
    elif key:
        headers["Authorization"] = "Bearer " + key
    return (None if problems else str(url).rstrip("/")), headers, problems


# Weak references: the thread of a client with buffered items keeps the client alive.
_open: weakref.WeakSet[Delivery] = weakref.WeakSet()


@atexit.register
def _send_what_is_left() -> None:
    until = time.monotonic() + _EXIT_SECONDS
    for delivery in list(_open):
        delivery.close(max(0.0, until - time.monotonic()))
        stats = delivery.stats([])
        left = stats.dropped["closed"]
        if left > 0 and not delivery.is_watched:
            why = stats.last_error or "the process ended before they were sent"
            sys.stderr.write(f"recalld: {left} queries and feedback items were not delivered: {why}.\n")


def _after_fork() -> None:
    for delivery in list(_open):
        delivery.start_empty()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
