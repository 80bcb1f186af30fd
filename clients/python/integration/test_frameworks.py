"""Tests the middleware and the callbacks of the client within their frameworks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any, Optional

import pytest
from conftest import Daemon

from recalld import Client, context

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


@pytest.fixture
def client(daemon: Daemon, pipeline: str) -> Any:
    made = Client(daemon.url, pipeline=pipeline)
    yield made
    made.close()
    assert sum(made.stats().dropped.values()) == 0


def test_importing_the_client_imports_no_framework() -> None:
    script = "import sys, recalld; print({m.split('.')[0] for m in sys.modules} & set(sys.argv[1:]))"
    frameworks = ["fastapi", "starlette", "django", "langchain_core", "llama_index", "pandas", "celery", "multiprocessing"]
    done = subprocess.run([sys.executable, "-c", script, *frameworks], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_fastapi_middleware_adds_the_session_to_queries_and_returns_their_ids(
    daemon: Daemon, pipeline: str, start: Any
) -> None:
    service = start("uvicorn --port {port} asgi_service:app", "Uvicorn running on")
    about = {"x-session": "s-1", "x-tenant": "acme", **TRACEPARENT}
    _, sync = service.get("/sync/first", about)
    _, asynchronous = service.get("/async/second", about)
    body, _ = service.get("/stream/third", {"x-session": "s-2"})
    with pytest.raises(Exception, match="504"):
        service.get("/sync/fail", {"x-session": "s-2"})
    service.stop()
    assert body == "Pay by card.\nPay by bill.\n"
    rows = {row["text"]: row for row in daemon.queries(pipeline)}
    assert set(rows) == {"first", "second", "third", "fail"}
    for text, headers in (("first", sync), ("second", asynchronous)):
        assert headers["x-recalld-query-id"] == rows[text]["query_id"]
        assert (rows[text]["trace_id"], rows[text]["segments"]) == (TRACE, {"tenant": "acme"})
    for text in ("first", "second", "third"):
        assert rows[text]["found"] == [("kb-1", 0.75), ("kb-2", 0.5)]
        assert rows[text]["context_characters"] == 24
    assert (rows["first"]["top_k"], rows["third"]["top_k"]) == (2, None)
    assert (rows["fail"]["outcome"], rows["fail"]["error"]) == ("error", "the store timed out")
    assert rows["first"]["session_hash"] == rows["second"]["session_hash"] != rows["third"]["session_hash"]
    assert rows["third"]["session_hash"] == rows["fail"]["session_hash"]


@pytest.mark.parametrize(
    ("command", "ready"),
    [
        ("gunicorn --workers 1 --bind 127.0.0.1:{port} django_service:wsgi", "Listening at"),
        ("uvicorn --port {port} django_service:asgi", "Uvicorn running on"),
    ],
)
def test_django_middleware_adds_a_hash_of_the_session_to_queries(
    daemon: Daemon, pipeline: str, start: Any, command: str, ready: str
) -> None:
    service = start(command, ready)
    about = {"x-tenant": "acme", **TRACEPARENT}
    _, first = service.get("/sync/first", about)
    cookie = first["set-cookie"].split(";")[0]
    _, second = service.get("/sync/second", {**about, "cookie": cookie})
    _, third = service.get("/async/third", {**about, "cookie": cookie})
    output = service.stop()
    rows = {row["text"]: row for row in daemon.queries(pipeline)}
    assert set(rows) == {"first", "second", "third"}, output
    for text, headers in (("first", first), ("second", second), ("third", third)):
        assert headers["x-recalld-query-id"] == rows[text]["query_id"]
        assert (rows[text]["trace_id"], rows[text]["segments"]) == (TRACE, {"tenant": "acme"})
        assert rows[text]["found"] == [("kb-1", None), ("kb-2", None)]
    # The first request had no session yet, so recalld used its trace as the session.
    assert rows["second"]["session_hash"] == rows["third"]["session_hash"] != rows["first"]["session_hash"]


class TestLangChain:
    def retriever(self) -> Any:
        from langchain_core.callbacks import CallbackManagerForRetrieverRun
        from langchain_core.documents import Document
        from langchain_core.retrievers import BaseRetriever

        class Words(BaseRetriever):
            def _get_relevant_documents(
                self, query: str, *, run_manager: CallbackManagerForRetrieverRun
            ) -> list[Document]:
                if query == "fail":
                    raise TimeoutError("the store timed out")
                if query == "nothing":
                    return []
                return [
                    Document(id="kb-1", page_content="Pay by card.", metadata={"score": 0.75}),
                    Document(page_content="Pay by bill.", metadata={"chunk_id": "kb-2", "score": 0.5}),
                ]

        return Words()

    def test_reports_documents_errors_and_empty_answers(self, daemon: Daemon, pipeline: str, client: Client) -> None:
        from langchain_core.runnables import RunnableConfig, RunnableLambda
        from recalld.langchain import RecalldCallbackHandler

        config: RunnableConfig = {
            "callbacks": [RecalldCallbackHandler(client)],
            "metadata": {"session_id": "s-1", "user_id": "u-1"},
        }
        words = self.retriever()
        chain = words | RunnableLambda(len)
        assert chain.invoke("single", config) == 2
        assert asyncio.run(chain.ainvoke("async", config)) == 2
        assert list(chain.stream("stream", config)) == [2]
        assert words.batch(["batch 1", "batch 2", "batch 3"], config)[2][0].id == "kb-1"
        assert chain.invoke("nothing", config) == 0
        with pytest.raises(TimeoutError):
            chain.invoke("fail", config)
        client.close()
        rows = {row["text"]: row for row in daemon.queries(pipeline)}
        answered = {"single", "async", "stream", "batch 1", "batch 2", "batch 3"}
        assert set(rows) == answered | {"nothing", "fail"}
        for text in answered:
            assert rows[text]["found"] == [("kb-1", 0.75), ("kb-2", 0.5)]
            assert rows[text]["latency_ms"] > 0
        assert rows["nothing"]["outcome"] == "empty"
        assert (rows["fail"]["outcome"], rows["fail"]["error"]) == ("error", "the store timed out")
        assert len({row["session_hash"] for row in rows.values()}) == 1
        assert {row["user_hash"] for row in rows.values()} != {None}

    def test_reports_an_ensemble_as_one_query(self, daemon: Daemon, pipeline: str, client: Client) -> None:
        from langchain_classic.retrievers import EnsembleRetriever
        from recalld.langchain import RecalldCallbackHandler

        both = EnsembleRetriever(retrievers=[self.retriever(), self.retriever()], weights=[0.5, 0.5])
        with context(session_id="s-1", segments={"tenant": "acme"}):
            both.invoke("hybrid", {"callbacks": [RecalldCallbackHandler(client)]})
            asyncio.run(both.ainvoke("hybrid, async", {"callbacks": [RecalldCallbackHandler(client)]}))
        client.close()
        rows = daemon.queries(pipeline)
        assert [row["text"] for row in rows] == ["hybrid", "hybrid, async"]
        for row in rows:
            assert [one[0] for one in row["found"]] == ["kb-1", "kb-2"]
            assert row["segments"] == {"tenant": "acme"}


class TestLlamaIndex:
    @pytest.fixture(autouse=True)
    def instrumented(self, client: Client) -> Any:
        from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
        from recalld.llama_index import instrument

        instrument(client)
        yield
        get_dispatcher().span_handlers.pop()

    def retriever(self, answers: Optional[list[Any]] = None) -> Any:
        from llama_index.core.retrievers import BaseRetriever
        from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

        class Words(BaseRetriever):
            def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
                if query_bundle.query_str == "fail":
                    raise TimeoutError("the store timed out")
                if query_bundle.query_str == "nothing":
                    return []
                return [
                    NodeWithScore(node=TextNode(id_="kb-1", text="Pay by card."), score=0.75),
                    NodeWithScore(node=TextNode(id_="kb-2", text="Pay by bill."), score=0.5),
                ]

        return Words()

    def test_reports_nodes_errors_and_empty_answers(self, daemon: Daemon, pipeline: str, client: Client) -> None:
        from llama_index.core.llms import MockLLM
        from llama_index.core.query_engine import RetrieverQueryEngine

        words = self.retriever()
        engine = RetrieverQueryEngine.from_args(words, llm=MockLLM())
        with context(session_id="s-1"):
            engine.query("single")
            asyncio.run(engine.aquery("async"))
            assert words.retrieve("nothing") == []
            with pytest.raises(TimeoutError):
                words.retrieve("fail")
        client.close()
        rows = {row["text"]: row for row in daemon.queries(pipeline)}
        assert set(rows) == {"single", "async", "nothing", "fail"}
        for text in ("single", "async"):
            assert rows[text]["found"] == [("kb-1", 0.75), ("kb-2", 0.5)]
            assert rows[text]["latency_ms"] > 0
            assert rows[text]["context_characters"] == 24
        assert rows["nothing"]["outcome"] == "empty"
        assert (rows["fail"]["outcome"], rows["fail"]["error"]) == ("error", "the store timed out")
        assert len({row["session_hash"] for row in rows.values()}) == 1

    def test_reports_a_fusion_as_one_query(self, daemon: Daemon, pipeline: str, client: Client) -> None:
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever

        for use_async in (False, True):
            fusion = QueryFusionRetriever(
                [self.retriever(), self.retriever()], llm=MockLLM(), num_queries=1, use_async=use_async
            )
            fusion.retrieve(f"fusion, {use_async}")
        client.close()
        rows = daemon.queries(pipeline)
        assert [row["text"] for row in rows] == ["fusion, False", "fusion, True"]
        assert [[one[0] for one in row["found"]] for row in rows] == [["kb-1", "kb-2"]] * 2
