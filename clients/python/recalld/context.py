"""Fields that every query of a request shares, so that the retriever does not need to know the session."""

from __future__ import annotations

import contextlib
import contextvars
import logging
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from .records import Episode, Identifier

logger = logging.getLogger("recalld")


class Context:
    """The fields of a `with recalld.context(...)` block, and the ids of the queries tracked in it (`query_ids`)."""

    def __init__(self, read: Callable[[], Mapping[str, Any]], around: Optional[Context]) -> None:
        self._read, self._around = read, around
        self._fields: Optional[Dict[str, Any]] = None
        self.query_ids: List[str] = []

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of this block. A field that the block does not set is taken from the blocks around it. Fields
        are not read before the first query of the block, because inner middleware sets the session and user first."""
        if self._fields is None:
            own: Dict[str, Any] = {}
            try:
                own = dict(self._read())
            except Exception as error:
                # The error comes from the host, so its message may quote personal data.
                logger.warning("The context of a request cannot be read: %s.", type(error).__name__)
            outer = {} if self._around is None else self._around.fields
            self._fields = merged(outer, own)
        return self._fields

    def add(self, query_id: str) -> None:
        # Bounded, because a block may last as long as a process.
        if len(self.query_ids) < 1000:
            self.query_ids.append(query_id)
        if self._around is not None:
            self._around.add(query_id)


_current: contextvars.ContextVar[Optional[Context]] = contextvars.ContextVar("recalld", default=None)


def current() -> Optional[Context]:
    return _current.get()


def merged(outer: Mapping[str, Any], own: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the outer fields, overridden by the fields of `own` that are not None. Segments are merged by key."""
    fields = {**outer, **{key: value for key, value in own.items() if value is not None}}
    if isinstance(outer.get("segments"), Mapping) and isinstance(own.get("segments"), Mapping):
        fields["segments"] = {**outer["segments"], **own["segments"]}
    return fields


@contextlib.contextmanager
def entered(read: Callable[[], Mapping[str, Any]]) -> Iterator[Context]:
    context = Context(read, _current.get())
    token = _current.set(context)
    try:
        yield context
    finally:
        try:
            _current.reset(token)
        except ValueError:  # The block is in a generator that another task closes.
            pass


def context(
    *,
    session_id: Optional[Identifier] = None,
    user_id: Optional[Identifier] = None,
    trace_id: Optional[str] = None,
    segments: Optional[Mapping[str, object]] = None,
    versions: Optional[Mapping[str, str]] = None,
    episode: Optional[Episode] = None,
) -> contextlib.AbstractContextManager[Context]:
    """Sets fields for all queries tracked in a `with` block, including queries in tasks and threads that inherit the
    block's context variables. Arguments of `track` take precedence; segments are merged."""
    fields = {
        "session_id": session_id,
        "user_id": user_id,
        "trace_id": trace_id,
        "segments": segments,
        "versions": versions,
        "episode": episode,
    }
    return entered(lambda: fields)


def trace_id_of(traceparent: Optional[str]) -> Optional[str]:
    """Returns the trace id of a W3C `traceparent` header."""
    parts = (traceparent or "").strip().split("-")
    return parts[1] if len(parts) >= 4 and len(parts[1]) == 32 and parts[1].strip("0") else None
