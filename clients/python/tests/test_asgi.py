from __future__ import annotations

import asyncio
import unittest
from typing import Any, Dict, List

from recalld import Client
from recalld.asgi import RecalldMiddleware

from .recording_daemon import RecordingDaemon

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HEADERS = [(b"traceparent", f"00-{TRACE}-00f067aa0ba902b7-01".encode())]


class Middleware(unittest.TestCase):
    def setUp(self) -> None:
        self.daemon = RecordingDaemon()
        self.addCleanup(self.daemon.close)
        self.client = Client(self.daemon.url, pipeline="faq", flush_interval=60)
        self.addCleanup(self.client.close, 0.0)

    def call(self, app: Any, scope: Dict[str, Any], *received: str) -> List[Dict[str, Any]]:
        """Returns what the application sends."""
        sent: List[Dict[str, Any]] = []
        incoming = iter(received)

        async def receive() -> Dict[str, Any]:
            return {"type": next(incoming)}

        async def send(message: Dict[str, Any]) -> None:
            sent.append({**message, "delivered": len(self.daemon.items("/v1/queries"))})

        asyncio.run(app(scope, receive, send))
        return sent

    async def answer(self, scope: Dict[str, Any], receive: Any, send: Any) -> None:
        scope["session"] = {"id": "s-1"}  # as inner middleware does
        self.client.track(results=[])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})

    def test_adds_the_trace_and_session_of_a_request_to_its_queries_and_returns_their_ids(self) -> None:
        app = RecalldMiddleware(
            self.answer, context=lambda scope: {"session_id": scope["session"]["id"]}, response_header="X-Query-Id"
        )
        [start] = self.call(app, {"type": "http", "headers": HEADERS})
        self.client.close()
        [query] = self.daemon.items("/v1/queries")
        self.assertEqual((query["trace_id"], query["session_id"]), (TRACE, "s-1"))
        self.assertEqual(start["headers"], [(b"x-own", b"1"), (b"x-query-id", query["id"].encode())])

    def test_handles_the_request_without_context_fields_if_the_context_function_raises(self) -> None:
        app = RecalldMiddleware(self.answer, context=lambda scope: {"session_id": scope["no such key"]})
        with self.assertLogs("recalld", "WARNING") as logged:
            [start] = self.call(app, {"type": "http", "headers": []})
        self.assertEqual((start["status"], len(logged.records)), (200, 1))
        self.client.close()
        self.assertEqual(len(self.daemon.items("/v1/queries")), 1)

    def test_sends_buffered_items_at_server_shutdown_with_and_without_an_application_lifespan(self) -> None:
        async def lives(scope: Any, receive: Any, send: Any) -> None:
            self.assertEqual(await receive(), {"type": "lifespan.startup"})
            await send({"type": "lifespan.startup.complete"})
            self.assertEqual(await receive(), {"type": "lifespan.shutdown"})
            self.client.track(results=[])
            await send({"type": "lifespan.shutdown.complete"})

        async def raises(scope: Any, receive: Any, send: Any) -> None:
            raise ValueError("lifespan is not supported")

        async def returns(scope: Any, receive: Any, send: Any) -> None:
            await receive()

        for app in (lives, raises, returns):
            with self.subTest(app.__name__):
                sent = self.call(RecalldMiddleware(app), {"type": "lifespan"}, "lifespan.startup", "lifespan.shutdown")
                kinds = [(one["type"], one["delivered"]) for one in sent]
                self.assertEqual([kind for kind, _ in kinds], ["lifespan.startup.complete", "lifespan.shutdown.complete"])
                self.assertEqual(kinds[-1][1], 1)
        self.assertEqual(self.client.stats().pending, 0)

    def test_forwards_a_failed_startup(self) -> None:
        async def fails(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "lifespan.startup.failed", "message": "no database"})

        sent = self.call(RecalldMiddleware(fails), {"type": "lifespan"}, "lifespan.startup")
        self.assertEqual([one["type"] for one in sent], ["lifespan.startup.failed"])


if __name__ == "__main__":
    unittest.main()
