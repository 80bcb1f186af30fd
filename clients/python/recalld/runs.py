"""Matches the starts and ends of retriever runs that a framework reports, so that an ensemble counts as one query."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Dict, Hashable, List, Mapping, Optional

from .context import current
from .documents import documents_of
from .records import Document

if TYPE_CHECKING:
    from .client import Client

# recalld gives the stage the same name when it reads OpenTelemetry traces.
_INNER = "retrieval"
_MOST_OPEN = 10_000


class _Run:
    """An outermost retriever run."""

    def __init__(self, id: Hashable, query: object, fields: Mapping[str, Any]) -> None:
        self.id, self.query, self.fields = id, query, fields
        self.context = current()
        self.started_at = time.perf_counter()
        self.inner: List[_Inner] = []


class _Inner:
    def __init__(self) -> None:
        self.started_at = time.perf_counter()
        self.ended_at = self.started_at
        self.answer: Any = None


class RetrieverRuns:
    """Tracks open runs. Reports each outermost retriever run, with all retriever runs inside it as one stage. Never
    raises."""

    def __init__(self, client: Client, pipeline: Optional[str]) -> None:
        self._client, self._pipeline = client, pipeline
        self._lock = threading.Lock()
        # Maps each run to its outermost retriever run. The oldest runs are evicted, because a
        # framework may never end a run.
        self._around: Dict[Hashable, _Run] = {}
        self._inner: Dict[Hashable, _Inner] = {}

    def start(self, run: Hashable, parent: Hashable, query: object, fields: Mapping[str, Any]) -> None:
        """Starts a retriever run."""
        with self._lock:
            around = self._around.get(parent)
            if around is not None:
                self._inner[run] = inner = _Inner()
                around.inner.append(inner)
            self._open(run, around or _Run(run, query, fields))

    def pass_through(self, run: Hashable, parent: Hashable) -> None:
        """Starts a run of another kind, such as a chain or a tool, which may contain retriever runs."""
        if parent in self._around:
            with self._lock:
                around = self._around.get(parent)
                if around is not None:
                    self._open(run, around)

    def end(self, run: Hashable, answer: Any = None, error: Optional[BaseException] = None) -> None:
        """Ends a retriever run or a run of another kind."""
        if run not in self._around:
            return
        with self._lock:
            ended = self._around.pop(run, None)
            inner = self._inner.pop(run, None)
            if inner is not None:
                inner.ended_at, inner.answer = time.perf_counter(), answer
        if ended is not None and ended.id == run:
            self._report(ended, answer, error)

    def _open(self, run: Hashable, around: _Run) -> None:
        while len(self._around) >= _MOST_OPEN:
            oldest = next(iter(self._around))
            del self._around[oldest]
            self._inner.pop(oldest, None)
        self._around[run] = around

    def _report(self, run: _Run, answer: Any, error: Optional[BaseException]) -> None:
        fields = {"pipeline": self._pipeline, **run.fields, "text": run.query}
        fields["latency_ms"] = 1000 * (time.perf_counter() - run.started_at)
        if error is not None:
            fields["error"] = error
        else:
            fields["results"] = lambda: documents_of(answer)
            if run.inner:
                fields["stages"] = _stages(run.inner)
        self._client.track_fields(fields, run.context)


def _stages(inner: List[_Inner]) -> List[Dict[str, Any]]:
    started_at, ended_at = min(one.started_at for one in inner), max(one.ended_at for one in inner)
    stage: Dict[str, Any] = {"name": _INNER, "latency_ms": 1000 * (ended_at - started_at)}
    try:
        lists = [documents_of(one.answer) for one in inner]
        stage["results"] = _merged_by_rank(lists)
    except Exception:
        pass  # Without `results`, recalld treats the stage's results as unknown, not as empty.
    return [stage]


def _merged_by_rank(lists: List[List[Document]]) -> List[Document]:
    """Merges the lists by rank. Each document keeps its best rank."""
    ranked = sorted(((rank, one) for documents in lists for rank, one in enumerate(documents)), key=lambda pair: pair[0])
    merged_list: Dict[object, Document] = {}
    for _, one in ranked:
        merged_list.setdefault(one.get("id") or one.get("text"), one)
    return list(merged_list.values())[:1000]
