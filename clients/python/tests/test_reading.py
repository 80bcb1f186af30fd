from __future__ import annotations

import json
import unittest
from typing import Any

from recalld import RecalldError, read

from .recording_daemon import Answer, RecordingDaemon


def answer(body: Any, status: int = 200) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(body).encode()


class Reading(unittest.TestCase):
    def daemon(self, *answers: Answer) -> RecordingDaemon:
        daemon = RecordingDaemon(*answers)
        self.addCleanup(daemon.close)
        return daemon

    def test_reads_all_pages_of_a_list(self) -> None:
        daemon = self.daemon(
            answer({"items": [{"run_id": "1"}, {"run_id": "2"}], "next_cursor": "c/1"}),
            answer({"items": [{"run_id": "3"}], "next_cursor": None}),
        )
        rows = read("golden-runs", url=daemon.url + "/", api_key="rk_1\n", pipeline="faq", golden_set=None)
        self.assertEqual([row["run_id"] for row in rows], ["1", "2", "3"])
        paths = [path for path, _, _ in daemon.requests]
        self.assertEqual(
            paths, ["/v1/golden-runs?pipeline=faq", "/v1/golden-runs?limit=100&pipeline=faq&cursor=c%2F1"]
        )
        self.assertEqual({headers["authorization"] for _, headers, _ in daemon.requests}, {"Bearer rk_1"})

    def test_stops_at_max_rows(self) -> None:
        daemon = self.daemon(answer({"items": [{"n": 1}, {"n": 2}], "next_cursor": "more"}))
        self.assertEqual(len(read("checks", url=daemon.url, max_rows=3)), 3)
        self.assertEqual(len(daemon.requests), 2)

    def test_reads_an_object_as_one_row_and_a_list_within_it_by_its_path(self) -> None:
        body = {"run_id": "1", "measures": {"query_density": {"series": [{"value": 0.9}], "latest": None}}}
        url = self.daemon(answer(body)).url
        self.assertEqual(read("density", url=url), [body])
        self.assertEqual(read("density", url=url, rows="measures.query_density.series"), [{"value": 0.9}])
        self.assertEqual(read("density", url=url, rows="measures.query_density.latest"), [])
        with self.assertRaisesRegex(RecalldError, "there is no field series. The fields at that place are: query_density"):
            read("density", url=url, rows="measures.series")

    def test_raises_an_error_with_the_code_and_message_of_recalld(self) -> None:
        problem = {"code": "unauthorized", "detail": "The API key is missing.", "status": 401}
        with self.assertRaises(RecalldError) as raised:
            read("checks", url=self.daemon(answer(problem, 401)).url)
        self.assertEqual((raised.exception.code, raised.exception.status), ("unauthorized", 401))
        self.assertIn("The API key is missing.", str(raised.exception))
        for url in ("http://127.0.0.1:9", self.daemon((200, {}, b"<html>")).url, self.daemon(answer([])).url):
            with self.assertRaisesRegex(RecalldError, "Pass the address of recalld as url"):
                read("checks", url=url)


if __name__ == "__main__":
    unittest.main()
