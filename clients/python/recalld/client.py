"""The client that a service calls. Its methods put items into a buffer and return; delivery.py sends them."""

from __future__ import annotations

import asyncio
import urllib.parse
import uuid
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union, overload

from .context import Context, current, merged
from .delivery import Delivery, Drop, Stats
from .exit import forget, watch
from .records import (
    Document,
    Episode,
    FeedbackKind,
    Identifier,
    InvalidField,
    Stage,
    Time,
    feedback_item,
    identifier,
    is_sampled,
    query_item,
)
from .retrievers import Function, reported

_QUERIES, _FEEDBACK = "/v1/queries", "/v1/feedback"


class Client:
    """Reports queries and feedback. Use one client per process, including in asynchronous code. Calls whose arguments
    match the signature never raise and never wait for the network. The client drops items that it cannot deliver,
    oldest first, and counts them. It also works in forked processes, such as those of gunicorn and Celery.

    url: address of recalld. api_key: a key with the scope `ingest`. pipeline: name of a pipeline in recalld's config.
    max_queue, max_queue_bytes: maximum number and total size in bytes of buffered and in-flight items. batch_size:
    maximum number of items per request, up to 1,000. flush_interval: maximum number of seconds that an item waits for
    its batch to fill up. timeout: seconds per request.
    sample_rate: share of sessions to send, from 0 to 1. Queries without a session are sampled by episode, and queries
    with neither are sampled individually. recalld weights queries by the inverse of this share.
    on_drop: called with a Drop, in the calling thread or the delivery thread; must return quickly. Without `on_drop`, the
    client logs the first drop for each reason as a warning.
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
        sample_rate: float = 1.0,
        on_drop: Optional[Callable[[Drop], object]] = None,
    ) -> None:
        self._pipeline = pipeline
        address, headers, self._problems = _address(url, api_key)

        def option(name: str, given: Any, default: float, least: float, most: float) -> float:
            if isinstance(given, (int, float)) and least <= given <= most:
                return given
            self._problems.append(f"{name} must be a number from {least:g} to {most:g}; {default:g} is used.")
            return default

        self._sample_rate = option("sample_rate", sample_rate, 1.0, 0, 1)
        self._delivery = Delivery(
            address,
            headers,
            int(option("max_queue", max_queue, 10_000, 1, 1_000_000)),
            int(option("max_queue_bytes", max_queue_bytes, 16 * 1024 * 1024, 1024, 1024**3)),
            int(option("batch_size", batch_size, 100, 1, 1000)),
            option("flush_interval", flush_interval, 1.0, 0.001, 3600),
            option("timeout", timeout, 5.0, 0.001, 60),
            on_drop if callable(on_drop) else None,
        )
        watch(self._delivery)

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
        episode: Optional[Episode] = None,
    ) -> str:
        """Reports a query with its results, best first, and returns the query id for feedback. The fields are the same as
        in POST /v1/queries. `results` may be omitted only if there is an `error`. Omitted fields are taken from the
        surrounding `recalld.context`."""
        own = {
            "results": results,
            "text": text,
            "id": id,
            "pipeline": pipeline,
            "occurred_at": occurred_at,
            "embedding": embedding,
            "top_k": top_k,
            "session_id": session_id,
            "trace_id": trace_id,
            "latency_ms": latency_ms,
            "stages": stages,
            "error": error,
            "segments": segments,
            "user_id": user_id,
            "versions": versions,
            "sampling": sampling,
            "episode": episode,
        }
        return self.track_fields(own, current())

    def track_fields(self, own: Mapping[str, Any], context: Optional[Context]) -> str:
        """Reports a query as `track` does, for this package's integrations. `results` may be a function; if it
        raises an error, the query is dropped and counted as invalid."""
        try:
            name = identifier(own.get("id"), "id") or str(uuid.uuid4())
        except InvalidField:
            name = str(uuid.uuid4())
        if context is not None:
            context.add(name)

        def make() -> Optional[bytes]:
            fields = dict(own) if context is None else merged(context.fields, own)
            unit = identifier(fields.get("session_id"), "session_id")
            if unit is None and fields.get("episode") is not None:
                unit = identifier(fields["episode"].get("id"), "episode.id")
            if not is_sampled(unit or name, self._sample_rate):
                return None
            if fields.get("pipeline") is None:
                fields["pipeline"] = self._pipeline
            if callable(fields.get("results")):
                fields["results"] = fields["results"]()
            return query_item({**fields, "id": name}, self._sample_rate)

        self._offer(_QUERIES, make)
        return name

    @overload
    def retriever(self, function: Function) -> Function: ...

    @overload
    def retriever(
        self,
        *,
        query: Optional[str] = None,
        results: Optional[Callable[[Any], Any]] = None,
        pipeline: Optional[str] = None,
        segments: Optional[Mapping[str, object]] = None,
        versions: Optional[Mapping[str, str]] = None,
    ) -> Callable[[Function], Function]: ...

    def retriever(
        self,
        function: Optional[Callable[..., Any]] = None,
        *,
        query: Optional[str] = None,
        results: Optional[Callable[[Any], Any]] = None,
        pipeline: Optional[str] = None,
        segments: Optional[Mapping[str, object]] = None,
        versions: Optional[Mapping[str, str]] = None,
    ) -> Any:
        """Decorates a function, a coroutine function or a generator that retrieves documents, and reports each call
        with its query, documents, latency and error. The function still returns the same results and raises the same
        exceptions.

        query: name of the argument that contains the query text; default: the first argument that is a str.
        results: function that extracts the documents from the return value; by default, the return value must be a list
        of documents.
        """
        more = {"pipeline": pipeline, "segments": segments, "versions": versions}

        def decorate(wrapped: Function) -> Function:
            return reported(
                wrapped, lambda fields, context: self.track_fields({**more, **fields}, context), query, results
            )

        return decorate if function is None else decorate(function)

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
        """Sends all buffered items, and waits at most `timeout` seconds. Returns True if all were sent or dropped."""
        return self._delivery.flush(timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Accepts no more items and sends buffered items for at most `timeout` seconds; drops the rest. Returns False if
        items had to be dropped because the time ran out."""
        forget(self._delivery)
        return self._delivery.close(timeout)

    def stats(self) -> Stats:
        """Returns how many items of this process were offered, sent, buffered and dropped."""
        return self._delivery.stats(self._problems)

    async def aflush(self, timeout: float = 5.0) -> bool:
        """Flushes like `flush`, but does not block the event loop."""
        return await asyncio.get_running_loop().run_in_executor(None, self.flush, timeout)

    async def aclose(self, timeout: float = 5.0) -> bool:
        """Closes like `close`, but does not block the event loop."""
        return await asyncio.get_running_loop().run_in_executor(None, self.close, timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _offer(self, path: str, make: Callable[[], Optional[bytes]]) -> None:
        try:
            item = make()
        except InvalidField as error:
            self._delivery.refuse("invalid", str(error))
        except Exception:  # Any other error comes from the host, so its message may quote personal data.
            self._delivery.refuse("invalid", "the item is malformed")
        else:
            if item is None:
                self._delivery.sample_out()
            else:
                self._delivery.offer(path, item)


def _address(url: object, api_key: object) -> Tuple[Optional[str], Dict[str, str], List[str]]:
    """Returns the address (None if the URL or the key is invalid), the headers, and the problems."""
    problems: List[str] = []
    headers = {"Content-Type": "application/json", "User-Agent": "recalld-python/0.1.0"}
    try:
        parts = urllib.parse.urlsplit(str(url))
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        is_usable = False
    if not is_usable:
        problems.append("url must be an http or https address without a user name or password; nothing is sent.")
    # A key that was read from a file may end with a line feed.
    key = str(api_key or "").strip()
    if not all("!" <= character <= "~" for character in key):
        problems.append("api_key must be visible ASCII characters; nothing is sent.")
    elif key:
        headers["Authorization"] = "Bearer " + key
    return (None if problems else str(url).rstrip("/")), headers, problems
