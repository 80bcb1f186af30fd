from __future__ import annotations

import asyncio
import contextlib
import inspect
import unittest
import uuid
from types import SimpleNamespace
from typing import Any, AsyncIterator, Dict, Iterator, List

from recalld import Client, context

from .recording_daemon import RecordingDaemon


class RetrieverTest(unittest.TestCase):
    def setUp(self) -> None:
        self.daemon = RecordingDaemon()
        self.addCleanup(self.daemon.close)
        self.client = Client(self.daemon.url, pipeline="faq")
        self.addCleanup(self.client.close, 0.0)

    def reported(self) -> List[Dict[str, Any]]:
        self.assertTrue(self.client.close())
        stats = self.client.stats()
        self.assertEqual((stats.problems, sum(stats.dropped.values())), ([], 0))
        return self.daemon.items("/v1/queries")


class Decorated(RetrieverTest):
    def test_reports_a_function_with_its_query_top_k_documents_and_latency(self) -> None:
        @self.client.retriever
        def search(store: object, question: str, k: int = 3) -> List[str]:
            """Searches."""
            return ["a", "b"]

        self.assertEqual(search(object(), "How do I pay?"), ["a", "b"])
        self.assertEqual((search.__name__, search.__doc__), ("search", "Searches."))
        [query] = self.reported()
        self.assertEqual((query["text"], query["top_k"], query["pipeline"]), ("How do I pay?", 3, "faq"))
        self.assertEqual(query["results"], [{"id": "a"}, {"id": "b"}])
        self.assertGreater(query["latency_ms"], 0)

    def test_finds_the_query_and_the_documents_through_the_options(self) -> None:
        @self.client.retriever(query="question", results=lambda answer: answer["hits"], pipeline="other")
        def search(language: str, **options: str) -> Dict[str, Any]:
            return {"hits": [{"id": "a", "score": 0.5}]}

        search("en", question="How do I pay?")
        [query] = self.reported()
        self.assertEqual((query["text"], query["pipeline"]), ("How do I pay?", "other"))
        self.assertEqual(query["results"], [{"id": "a", "score": 0.5}])

    def test_preserves_the_kind_of_methods_coroutines_and_generators(self) -> None:
        client = self.client

        class Store:
            @client.retriever
            async def search(self, query: str) -> List[str]:
                await asyncio.sleep(0)
                return ["a"]

            @client.retriever
            def stream(self, query: str) -> Iterator[str]:
                yield "a"
                yield "b"

            @client.retriever
            async def astream(self, query: str) -> AsyncIterator[str]:
                yield "a"
                yield "b"

        async def consume() -> List[str]:
            self.assertEqual(await Store().search("coroutine"), ["a"])
            return [one async for one in Store().astream("asynchronous generator")]

        self.assertTrue(inspect.iscoroutinefunction(Store.search))
        self.assertEqual(asyncio.run(consume()), ["a", "b"])
        self.assertEqual(list(Store().stream("generator")), ["a", "b"])
        queries = self.reported()
        self.assertEqual(
            [(one["text"], [result["id"] for result in one["results"]]) for one in queries],
            [("coroutine", ["a"]), ("asynchronous generator", ["a", "b"]), ("generator", ["a", "b"])],
        )

    def test_reports_the_consumed_documents_and_closes_the_generator_if_the_consumer_stops_early(self) -> None:
        closed = []

        @self.client.retriever
        def stream(query: str) -> Iterator[str]:
            try:
                yield from "abc"
            finally:
                closed.append(query)

        generator = stream("How do I pay?")
        self.assertEqual(next(generator), "a")
        generator.close()  # type: ignore[attr-defined]
        self.assertEqual(closed, ["How do I pay?"])
        self.assertEqual([one["results"] for one in self.reported()], [[{"id": "a"}]])

    def test_does_not_consume_a_returned_iterator_before_the_caller(self) -> None:
        @self.client.retriever
        def search(query: str) -> Iterator[str]:
            return map(str, range(2))

        self.assertEqual(list(search("How do I pay?")), ["0", "1"])
        self.assertEqual(self.reported()[0]["results"], [{"id": "0"}, {"id": "1"}])

    def test_reports_an_error_and_raises_it_unchanged(self) -> None:
        error = TimeoutError("the store timed out")

        @self.client.retriever
        def search(query: str) -> List[str]:
            raise error

        @self.client.retriever
        async def cancelled(query: str) -> List[str]:
            await asyncio.sleep(60)
            return []

        @self.client.retriever
        def stream(query: str) -> Iterator[str]:
            yield "a"
            raise error

        with self.assertRaises(TimeoutError) as raised:
            search("function")
        self.assertIs(raised.exception, error)
        with self.assertRaises(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(cancelled("cancelled"), 0.01))
        with self.assertRaises(TimeoutError):
            list(stream("generator"))
        with self.assertRaises(TypeError):
            search()  # type: ignore[call-arg]
        queries = self.reported()
        self.assertEqual(
            [(one.get("text"), one["error"]) for one in queries][:3],
            [
                ("function", "the store timed out"),
                ("cancelled", "CancelledError"),
                ("generator", "the store timed out"),
            ],
        )
        self.assertEqual([one["results"] for one in queries], [[]] * 4)

    def test_drops_but_returns_a_value_that_is_not_a_list_of_documents(self) -> None:
        @self.client.retriever
        def search(query: str) -> Any:
            return {"hits": []} if query == "mapping" else [object()]

        with self.assertLogs("recalld", "WARNING"):
            self.assertEqual(search("mapping"), {"hits": []})
        search("objects")
        self.assertEqual(self.client.stats().dropped["invalid"], 2)


class Documents(RetrieverTest):
    def test_reads_the_document_formats_of_frameworks_and_stores(self) -> None:
        node = SimpleNamespace(node_id="kb-4", id_="kb-4", text="four", metadata={"source": "a.pdf"})
        name = uuid.UUID("12345678-1234-5678-1234-567812345678")
        answer: List[Any] = [
            "kb-1",
            SimpleNamespace(id=None, page_content="two", metadata={"source": "a.pdf", "chunk_id": "kb-2", "score": 0.5}),
            (SimpleNamespace(id="kb-3", page_content="three", metadata={}), 0.25),
            SimpleNamespace(node=node, score=0.125),
            SimpleNamespace(id=name, score=0.0625, payload={"text": "five"}),
            {"document_id": 6, "content": "six", "score": float("nan")},
            {"text": "seven"},
        ]

        @self.client.retriever
        def search(query: str) -> List[Any]:
            return answer

        search("How do I pay?")
        [query] = self.reported()
        self.assertEqual(
            [(one["id"], one.get("score"), one.get("text")) for one in query["results"][:6]],
            [
                ("kb-1", None, None),
                ("kb-2", 0.5, "two"),
                ("kb-3", 0.25, "three"),
                ("kb-4", 0.125, "four"),
                (str(name), 0.0625, "five"),
                ("6", None, "six"),
            ],
        )
        self.assertTrue(query["results"][6]["id"].startswith("sha256:"))


class ContextFields(RetrieverTest):
    def test_adds_context_fields_to_queries_that_do_not_set_them(self) -> None:
        with context(session_id="s-1", segments={"tenant": "acme", "beta": True}) as request:
            first = self.client.track(results=[])
            with context(user_id="u-1"):
                second = self.client.track(results=[], session_id="s-2", segments={"beta": False})
        third = self.client.track(results=[])
        self.assertEqual(request.query_ids, [first, second])
        queries = {one["id"]: one for one in self.reported()}
        self.assertEqual(queries[first]["segments"], {"tenant": "acme", "beta": "true"})
        self.assertEqual(queries[first]["session_id"], "s-1")
        self.assertEqual(queries[second]["segments"], {"tenant": "acme", "beta": "false"})
        self.assertEqual((queries[second]["session_id"], queries[second]["user_id"]), ("s-2", "u-1"))
        self.assertFalse({"session_id", "segments", "user_id"} & set(queries[third]))

    def test_keeps_concurrent_requests_separate(self) -> None:
        @self.client.retriever
        async def search(query: str) -> List[str]:
            await asyncio.sleep(0)
            return ["a"]

        async def request(number: int) -> None:
            with context(session_id=f"s-{number}"):
                await asyncio.gather(search(f"{number}"), search(f"{number}"))

        async def serve() -> None:
            await asyncio.gather(*(request(number) for number in range(10)))

        asyncio.run(serve())
        queries = self.reported()
        self.assertEqual(len(queries), 20)
        self.assertEqual([one["session_id"] for one in queries], [f"s-{one['text']}" for one in queries])

    def test_reports_a_generator_with_the_context_of_its_call(self) -> None:
        @self.client.retriever
        def stream(query: str) -> Iterator[str]:
            yield "a"

        with context(session_id="s-1"):
            generator = stream("How do I pay?")
        with contextlib.closing(generator):  # type: ignore[type-var]
            list(generator)
        self.assertEqual(self.reported()[0]["session_id"], "s-1")


if __name__ == "__main__":
    unittest.main()
