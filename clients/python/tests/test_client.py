from __future__ import annotations

import array
import asyncio
import base64
import contextlib
import io
import itertools
import json
import os
import subprocess
import sys
import threading
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, List, Optional

from recalld import Client, Drop, content_id

from .recording_daemon import ACCEPTED, Answer, RecordingDaemon

HERE = Path(__file__).resolve().parent


class ClientTest(unittest.TestCase):
    def daemon(self, *answers: Optional[Answer]) -> RecordingDaemon:
        daemon = RecordingDaemon(*answers)
        self.addCleanup(daemon.close)
        return daemon

    def client(self, url: str, **options: Any) -> Client:
        client = Client(url, pipeline="faq", **options)
        self.addCleanup(client.close, 0.0)
        return client

    def assert_balanced(self, client: Client) -> None:
        stats = client.stats()
        accounted = stats.sampled_out + stats.sent + stats.pending + sum(stats.dropped.values())
        self.assertEqual(stats.offered, accounted)


class SentItems(ClientTest):
    def test_sends_every_field_under_its_wire_name(self) -> None:
        daemon = self.daemon()
        client = self.client(daemon.url, api_key=" rk_1\n")
        query_id = client.track(
            id="q-1",
            pipeline="support-docs",
            occurred_at=datetime(2026, 11, 20, 16, 0, tzinfo=timezone(timedelta(hours=1))),
            text="How do I reset it?",
            results=[
                "a",
                7,
                {"id": "c", "score": 0.5, "fields": {"region": "eu", "archived": False, "owner": None}},
                {"id": "d", "score": float("nan"), "text": "Open it."},
            ],
            embedding=(0.5, -0.25),
            top_k=5,
            session_id=12,
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            latency_ms=41.5,
            stages=[{"name": "words", "results": ["b", 7], "side": True}, {"name": "reranked", "latency_ms": 9.5}],
            error=TimeoutError("the store timed out"),
            segments={"tenant": "acme", "beta": True, "course": None},
            user_id="u-1",
            versions={"index": "i-7"},
            sampling={"probability": 0.5},
            episode={"id": 9, "step": 2, "original_text": "It broke."},
        )
        client.feedback(query_id, "click", document_id="a", rank=1, occurred_at=0.0, id="f-1", comment="good", user_id=3)
        client.feedback(query_id, "rating", value=4, id="f-2")
        self.assertTrue(client.close())
        self.assertEqual(query_id, "q-1")
        [query] = daemon.items("/v1/queries")
        vector = array.array("f", base64.b64decode(query.pop("embedding")))
        self.assertEqual(vector.tolist(), [0.5, -0.25])
        self.assertEqual(
            query,
            {
                "id": "q-1",
                "pipeline": "support-docs",
                "occurred_at": "2026-11-20T15:00:00.000+00:00",
                "text": "How do I reset it?",
                "results": [
                    {"id": "a"},
                    {"id": "7"},
                    {"id": "c", "score": 0.5, "fields": {"region": "eu", "archived": "false"}},
                    {"id": "d", "text": "Open it."},
                ],
                "top_k": 5,
                "session_id": "12",
                "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                "latency_ms": 41.5,
                "stages": [
                    {"name": "words", "results": [{"id": "b"}, {"id": "7"}], "side": True},
                    {"name": "reranked", "latency_ms": 9.5},
                ],
                "error": "the store timed out",
                "segments": {"tenant": "acme", "beta": "true"},
                "user_id": "u-1",
                "versions": {"index": "i-7"},
                "sampling": {"probability": 0.5},
                "episode": {"id": "9", "step": 2, "original_text": "It broke."},
            },
        )
        click, rating = daemon.items("/v1/feedback")
        self.assertEqual(
            click,
            {
                "id": "f-1",
                "query_id": "q-1",
                "pipeline": "faq",
                "kind": "click",
                "occurred_at": "1970-01-01T00:00:00.000+00:00",
                "document_id": "a",
                "rank": 1,
                "comment": "good",
                "user_id": "3",
            },
        )
        self.assertEqual((rating["kind"], rating["value"]), ("rating", 4))
        self.assertEqual({headers["authorization"] for _, headers, _ in daemon.requests}, {"Bearer rk_1"})
        self.assert_balanced(client)

    def test_derives_the_id_of_a_document_without_an_id_from_its_text(self) -> None:
        daemon = self.daemon()
        client = self.client(daemon.url)
        client.track(results=[{"text": "Open\n the settings."}])
        client.close()
        [query] = daemon.items("/v1/queries")
        self.assertEqual(query["results"][0]["id"], content_id("Open the settings."))

    def test_sends_an_unpaired_surrogate_as_valid_json(self) -> None:
        daemon = self.daemon()
        client = self.client(daemon.url)
        client.track(text="a\ud83d", results=[])
        self.assertTrue(client.close())
        self.assertEqual(daemon.items("/v1/queries")[0]["text"], "a\ud83d")

    def test_derives_the_same_content_ids_as_recalld(self) -> None:
        vectors = json.loads((HERE / "../../../test/fixtures/content-ids.json").read_text("utf-8"))
        self.assertGreater(len(vectors), 10)
        for vector in vectors:
            with self.subTest(vector["name"]):
                self.assertEqual(content_id(vector["text"]), vector["id"])


class DroppedItems(ClientTest):
    def test_drops_items_with_an_invalid_field_names_the_field_and_never_raises(self) -> None:
        drops: List[Drop] = []

        def on_drop(drop: Drop) -> None:
            drops.append(drop)
            raise RuntimeError("the host's own fault")

        client = self.client("http://127.0.0.1:9", on_drop=on_drop)
        bad: Any = object()
        secret = "the text of a user"
        client.track()
        client.track(results=[{"score": 1.0}])
        client.track(results=[{"text": "  "}])
        client.track(results=[], embedding=[float("inf")])
        client.track(results=[], text=secret * 10_000)
        client.track(results=bad)
        client.track(results=[], segments={"a": 1}, latency_ms=float("nan"))
        client.track(results=[], id="", session_id=bad)
        client.feedback("q-1", bad)
        client.feedback(None, "click")  # type: ignore[arg-type]
        client.track(results=[{"id": "a", "fields": {"region": "x" * 129}}])
        client.track(results=itertools.repeat("a"))
        client.track(results=[], embedding=itertools.repeat(0.5))  # type: ignore[arg-type]
        client.track(results=[], top_k=1.5)  # type: ignore[arg-type]
        client.track(results=[], episode={"step": 1})  # type: ignore[arg-type]
        self.assertEqual([drop.reason for drop in drops], ["invalid"] * 15)
        self.assertIn("results is missing", drops[0].detail)
        self.assertIn("session_id", drops[7].detail)
        self.assertIn("kind must be one of thumb", drops[8].detail)
        self.assertNotIn(secret, repr(drops))
        self.assert_balanced(client)

    def test_drops_every_item_and_reports_the_problem_without_a_valid_url_or_key(self) -> None:
        for client in (self.client("ftp://x"), self.client("http://u:p@x"), self.client("http://x", api_key="ü")):
            client.track(results=[])
            self.assertEqual(client.stats().dropped["disabled"], 1)
            self.assertEqual(len(client.stats().problems), 1)

    def test_replaces_invalid_options_by_their_defaults_and_reports_them(self) -> None:
        daemon = self.daemon()
        bad: Any = "many"
        client = self.client(daemon.url, max_queue=bad, batch_size=0, flush_interval=bad, sample_rate=2, on_drop=bad)
        client.track(results=[])
        self.assertTrue(client.close())
        stats = client.stats()
        self.assertEqual((stats.sent, len(stats.problems)), (1, 4))
        self.assertIn("max_queue must be a number from 1 to 1e+06; 10000 is used.", stats.problems)

    def test_logs_the_first_drop_for_each_reason_unless_on_drop_is_set(self) -> None:
        client, watched = self.client("http://x", api_key="ü"), self.client("http://127.0.0.1:9", on_drop=print)
        with self.assertLogs("recalld", "WARNING") as logged:
            client.track(results=[])
            client.track(results=[])
            client.track()
        self.assertEqual(len(logged.records), 2)
        with self.assertNoLogs("recalld") if sys.version_info >= (3, 10) else contextlib.nullcontext():
            with contextlib.redirect_stdout(io.StringIO()) as output:
                watched.track()
        self.assertIn("invalid", output.getvalue())

    def test_counts_sessions_outside_the_sample_and_sends_the_probability_with_the_others(self) -> None:
        daemon = self.daemon()
        client = self.client(daemon.url, sample_rate=0.5)
        for number in range(200):
            client.track(results=[], session_id=f"s-{number % 20}", sampling={"probability": 0.5})
        self.assertTrue(client.close())
        items = daemon.items("/v1/queries")
        sessions = {item["session_id"] for item in items}
        self.assertTrue(0 < len(sessions) < 20)
        self.assertEqual(len(items), 10 * len(sessions))
        self.assertEqual({item["sampling"]["probability"] for item in items}, {0.25})
        self.assertEqual(client.stats().sampled_out, 200 - len(items))
        self.assert_balanced(client)

    def test_drops_the_oldest_item_when_the_buffer_is_full(self) -> None:
        daemon = self.daemon(None, ACCEPTED)
        client = self.client(daemon.url, max_queue=3, batch_size=1)
        for number in range(10):
            client.track(id=f"q-{number}", results=[])
        self.assertEqual(client.stats().pending, 3)
        daemon.released.set()
        self.assertTrue(client.close())
        self.assertEqual([item["id"] for item in daemon.items("/v1/queries")][-2:], ["q-8", "q-9"])
        stats = client.stats()
        self.assertEqual(stats.sent + stats.dropped["overflow"], 10)
        self.assert_balanced(client)

    def test_drops_an_item_of_more_than_one_mebibyte(self) -> None:
        client = self.client("http://127.0.0.1:9")
        client.track(results=[{"id": "a", "text": "x" * 1_100_000}])
        self.assertEqual(client.stats().dropped["oversized"], 1)

    def test_closes_within_its_timeout_if_the_daemon_does_not_respond(self) -> None:
        daemon = self.daemon(None)
        client = self.client(daemon.url, batch_size=1)
        client.track(results=[])
        self.assertFalse(client.close(0.05))
        self.assertEqual(client.stats().dropped["closed"], 1)
        client.track(results=[])
        self.assertEqual(client.stats().dropped["closed"], 2)
        self.assert_balanced(client)


class DaemonResponses(ClientTest):
    def test_sends_the_same_items_again_if_the_daemon_is_overloaded(self) -> None:
        overloaded: Answer = (503, {"Retry-After": "60"}, b"")
        daemon = self.daemon(overloaded, ACCEPTED)
        client = self.client(daemon.url, batch_size=1)
        client.track(results=[])
        # The client would now wait for a minute; closing makes it try once more immediately.
        self.assertTrue(client.close())
        first, second = (items for _, _, items in daemon.requests)
        self.assertEqual(first, second)
        self.assertEqual(client.stats().sent, 1)

    def test_counts_duplicates_and_rejected_items_by_code(self) -> None:
        body = b'{"accepted": 1, "duplicates": 1, "rejected": [{"index": 0, "code": "unknown_pipeline", "message": "x"}]}'
        drops: List[Drop] = []
        client = self.client(self.daemon((202, {}, body)).url, on_drop=drops.append)
        client.track(results=[])
        client.track(results=[])
        self.assertTrue(client.flush())
        stats = client.stats()
        self.assertEqual((stats.sent, stats.duplicates, stats.dropped["rejected"]), (1, 1, 1))
        self.assertEqual(drops, [Drop("rejected", 1, "unknown_pipeline")])

    def test_drops_a_rejected_batch_and_does_not_follow_a_redirect(self) -> None:
        target = self.daemon()
        for answer in ((401, {}, b""), (302, {"Location": target.url}, b"")):
            client = self.client(self.daemon(answer).url)
            client.track(results=[])
            self.assertTrue(client.close())
            self.assertEqual(client.stats().dropped["rejected"], 1)
            self.assertEqual(client.stats().last_error, f"HTTP {answer[0]}")
        self.assertEqual(target.requests, [])

    def test_sends_a_batch_that_is_too_large_in_halves(self) -> None:
        daemon = self.daemon((413, {}, b""), ACCEPTED)
        client = self.client(daemon.url)
        for number in range(4):
            client.track(id=f"q-{number}", results=[])
        self.assertTrue(client.close())
        self.assertEqual([len(items) for _, _, items in daemon.requests], [4, 2, 2])
        self.assertEqual(client.stats().sent, 4)

    def test_sends_plain_json_to_a_proxy_that_rejects_gzip(self) -> None:
        daemon = self.daemon((415, {}, b""), ACCEPTED)
        client = self.client(daemon.url)
        client.track(results=[])
        self.assertTrue(client.close())
        self.assertEqual([headers.get("content-encoding") for _, headers, _ in daemon.requests], ["gzip", None])


class AsynchronousMethods(ClientTest):
    def test_waits_for_delivery_without_blocking_the_event_loop(self) -> None:
        daemon = self.daemon(None, ACCEPTED)

        async def serve() -> int:
            async with Client(daemon.url, pipeline="faq") as client:
                client.track(results=[])
                flush = asyncio.ensure_future(client.aflush())
                await asyncio.sleep(0)
                self.assertFalse(flush.done())
                daemon.released.set()
                self.assertTrue(await flush)
            return client.stats().sent

        self.assertEqual(asyncio.run(serve()), 1)


class ProcessExit(ClientTest):
    def run_python(self, script: str, url: str) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, "PYTHONPATH": str(HERE.parent), "NO_PROXY": "*"}
        return subprocess.run([sys.executable, "-c", script, url], env=env, capture_output=True, text=True, timeout=60)

    def test_sends_buffered_items_if_the_process_ends_without_close(self) -> None:
        daemon = self.daemon()
        script = "import sys, recalld; recalld.Client(sys.argv[1], pipeline='faq').track(results=['a'])"
        done = self.run_python(script, daemon.url)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(daemon.items("/v1/queries")), 1)

    def test_writes_the_number_of_undelivered_items_to_stderr(self) -> None:
        script = (
            "import sys, recalld\nrecalld.exit._EXIT_SECONDS = 0.05\n"
            "recalld.Client('http://127.0.0.1:9', pipeline='faq').track(results=['a'])"
        )
        done = self.run_python(script, "")
        self.assertEqual(done.returncode, 0)
        self.assertIn("recalld: 1 query or feedback item was not delivered: ", done.stderr)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork here")
    def test_works_in_a_forked_child_and_sends_no_item_twice(self) -> None:
        daemon = self.daemon()
        script = (
            # Python 3.12 warns about any fork in a process with several threads.
            "import os, sys, warnings, recalld\nwarnings.simplefilter('ignore', DeprecationWarning)\n"
            "client = recalld.Client(sys.argv[1], pipeline='faq', flush_interval=60)\n"
            "client.track(id='of the parent', results=[])\nchild = os.fork()\n"
            "if child == 0:\n    client.track(id='of the child', results=[])\n"
            "    os._exit(0 if client.close() and client.stats().sent == 1 else 1)\n"
            "assert os.waitpid(child, 0)[1] == 0\nassert client.close()"
        )
        self.assertEqual(self.run_python(script, daemon.url).stderr, "")
        self.assertEqual(
            sorted(item["id"] for item in daemon.items("/v1/queries")), ["of the child", "of the parent"]
        )

    def test_loses_and_repeats_no_item_of_many_threads(self) -> None:
        daemon = self.daemon()
        client = self.client(daemon.url)
        threads = [
            threading.Thread(target=lambda: [client.track(results=["a"]) for _ in range(200)]) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(client.close())
        ids = [item["id"] for item in daemon.items("/v1/queries")]
        self.assertEqual((len(ids), len(set(ids))), (1600, 1600))
        self.assert_balanced(client)


if __name__ == "__main__":
    unittest.main()
