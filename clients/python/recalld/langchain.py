"""Reports the retrievals of LangChain and LangGraph.

    chain.invoke(question, config={"callbacks": [RecalldCallbackHandler(client)]})
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document

from .client import Client
from .runs import RetrieverRuns


class RecalldCallbackHandler(BaseCallbackHandler):
    """Reports each outermost retriever run with its documents, latency and error, and all retrievers inside it, such as
    the members of an ensemble, as one stage. Takes the session from `session_id` or `thread_id` in the call's metadata,
    and the user from `user_id`."""

    # Otherwise, LangChain calls the methods for asynchronous calls in a thread, out of order.
    run_inline = True
    ignore_llm = True
    ignore_chat_model = True
    ignore_agent = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, client: Client, *, pipeline: Optional[str] = None) -> None:
        super().__init__()
        self._runs = RetrieverRuns(client, pipeline)

    def on_retriever_start(
        self,
        serialized: Dict[str, Any],
        query: str,
        *,
        run_id: UUID,
        parent_run_id: Optional[UUID] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        **_: Any,
    ) -> None:
        given = metadata or {}
        fields = {"session_id": given.get("session_id") or given.get("thread_id"), "user_id": given.get("user_id")}
        self._runs.start(run_id, parent_run_id, query, fields)

    def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **_: Any) -> None:
        self._runs.end(run_id, documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._runs.end(run_id, error=error)

    def on_chain_start(self, *_: Any, run_id: UUID, parent_run_id: Optional[UUID] = None, **__: Any) -> None:
        self._runs.pass_through(run_id, parent_run_id)

    def on_chain_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        self._runs.end(run_id)

    def on_chain_error(self, *_: Any, run_id: UUID, **__: Any) -> None:
        self._runs.end(run_id)

    def on_tool_start(self, *_: Any, run_id: UUID, parent_run_id: Optional[UUID] = None, **__: Any) -> None:
        self._runs.pass_through(run_id, parent_run_id)

    def on_tool_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        self._runs.end(run_id)

    def on_tool_error(self, *_: Any, run_id: UUID, **__: Any) -> None:
        self._runs.end(run_id)
