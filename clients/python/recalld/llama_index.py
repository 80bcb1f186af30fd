"""Reports the retrievals of LlamaIndex.

    instrument(client)   # once, before the first query
"""

from __future__ import annotations

import inspect
from typing import Any, Dict, Optional

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from pydantic import PrivateAttr

from .client import Client
from .runs import RetrieverRuns


def instrument(client: Client, *, pipeline: Optional[str] = None) -> None:
    """Reports each outermost retrieval of the process with its nodes, latency and error, and all retrievers inside it,
    such as those of a fusion retriever, as one stage. Does not report the order that a query engine's postprocessors
    produce, because they run after the retrieval."""
    get_dispatcher().add_span_handler(RecalldSpanHandler(client, pipeline=pipeline))


class RecalldSpanHandler(BaseSpanHandler[BaseSpan]):
    _runs: RetrieverRuns = PrivateAttr()

    def __init__(self, client: Client, *, pipeline: Optional[str] = None) -> None:
        super().__init__()
        self._runs = RetrieverRuns(client, pipeline)

    @classmethod
    def class_name(cls) -> str:
        return "RecalldSpanHandler"

    def new_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Optional[Any] = None,
        parent_span_id: Optional[str] = None,
        tags: Optional[Dict[str, Any]] = None,
        **_: Any,
    ) -> None:
        # LlamaIndex names a span after the class and the method.
        method = id_.split("-", 1)[0].rsplit(".", 1)[-1]
        if isinstance(instance, BaseRetriever) and method in ("retrieve", "aretrieve"):
            query = bound_args.arguments.get("str_or_query_bundle")
            given = tags or {}
            fields = {key: given.get(key) for key in ("session_id", "user_id")}
            self._runs.start(id_, parent_span_id, getattr(query, "query_str", query), fields)
        else:
            self._runs.pass_through(id_, parent_span_id)

    def prepare_to_exit_span(
        self, id_: str, bound_args: inspect.BoundArguments, instance: Any = None, result: Any = None, **_: Any
    ) -> None:
        self._runs.end(id_, result)

    def prepare_to_drop_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any = None,
        err: Optional[BaseException] = None,
        **_: Any,
    ) -> None:
        self._runs.end(id_, error=err or RuntimeError("the retrieval failed"))
