"""Tells recalld of live queries and feedback from Python 3.8 or later, with the standard library alone.

    RECALLD_URL=http://127.0.0.1:8321 python3 examples/python_client.py

Copy the class into your service. Its calls put an item into a bounded queue and return; a thread sends batches. What
cannot be delivered is dropped, the oldest first, and counted. Each item has an id, so that recalld recognises what is
sent twice.
"""

import collections
import datetime
import gzip
import http.client
import json
import os
import random
import threading
import time
import urllib.error
import urllib.request
import uuid

QUERIES, FEEDBACK = "/v1/queries", "/v1/feedback"
RETRYABLE = {429, 502, 503, 504}
LONGEST_DELAY_SECONDS = 60.0


class RecalldClient:
    def __init__(self, url, pipeline, api_key=None, max_queue=10_000, batch_size=100, flush_interval=1.0, timeout=5.0):
        self._url = url.rstrip("/")
        self._pipeline = pipeline
        self._headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "User-Agent": "recalld-example-python"}
        if api_key:
            self._headers["Authorization"] = "Bearer " + api_key.strip()
        self._batch_size, self._flush_interval, self._timeout = batch_size, flush_interval, timeout
        self._queues = {path: collections.deque(maxlen=max_queue) for path in (QUERIES, FEEDBACK)}
        self._changed = threading.Condition()
        self._closing = False
        self.stats = collections.Counter(sent=0, rejected=0, dropped=0, invalid=0)
        # A daemon thread does not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="recalld", daemon=True)
        self._thread.start()

    def track(self, results, **fields):
        """Takes a query with what was retrieved for it, best first, and returns its id.

        results: dicts with "id" and perhaps "score". fields: text, embedding, top_k, session_id, latency_ms, error,
        segments, user_id, versions, as POST /v1/queries has them.
        """
        query_id = str(fields.pop("id", None) or uuid.uuid4())
        self._put(QUERIES, dict(fields, id=query_id, results=results))
        return query_id

    def feedback(self, query_id, kind, **fields):
        """Takes feedback on a query. fields: value, document_id, rank, user_id, comment."""
        self._put(FEEDBACK, dict(fields, id=str(uuid.uuid4()), query_id=query_id, kind=kind))

    def close(self, timeout=5.0):
        """Sends what is left, for at most so many seconds. Returns whether everything was delivered."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _put(self, path, item):
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        try:
            text = json.dumps({"pipeline": self._pipeline, "occurred_at": now, **item}, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            self.stats["invalid"] += 1
            return
        with self._changed:
            queue = self._queues[path]
            if self._closing or len(queue) == queue.maxlen:
                self.stats["dropped"] += 1
            if not self._closing:
                queue.append(text)
            if len(queue) >= self._batch_size:
                self._changed.notify()

    def _run(self):
        while True:
            with self._changed:
                self._changed.wait_for(self._is_due, self._flush_interval)
                is_last = self._closing
                batches = [(path, self._take(queue)) for path, queue in self._queues.items() if queue]
            for path, batch in batches:
                self._send(path, batch)
            if is_last and not batches:
                return

    def _is_due(self):
        return self._closing or any(len(queue) >= self._batch_size for queue in self._queues.values())

    def _take(self, queue):
        return [queue.popleft() for _ in range(min(len(queue), self._batch_size))]

    def _send(self, path, batch):
        body = gzip.compress(("[" + ",".join(batch) + "]").encode())
        request = urllib.request.Request(self._url + path, body, self._headers)
        attempt = 0
        while True:
            retry_after = None
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as response:
                    rejected = _count_rejected(response.read())
                self.stats["rejected"] += rejected
                self.stats["sent"] += len(batch) - rejected
                return
            except urllib.error.HTTPError as error:
                retry_after = error.headers.get("Retry-After")
                error.close()
                if error.code not in RETRYABLE:
                    self.stats["rejected"] += len(batch)
                    return
            except (OSError, http.client.HTTPException):
                pass  # Not reached, or cut off: again later.
            jitter = random.uniform(0, min(LONGEST_DELAY_SECONDS, 0.5 * 2 ** min(attempt, 10)))
            time.sleep(min(LONGEST_DELAY_SECONDS, _seconds(retry_after) + jitter))
            attempt += 1


def _count_rejected(body):
    try:
        return len(json.loads(body)["rejected"])
    except (ValueError, KeyError, TypeError):
        return 0


def _seconds(retry_after):
    return float(retry_after) if retry_after and retry_after.isdigit() else 0.0


def main():
    client = RecalldClient(
        url=os.environ.get("RECALLD_URL", "http://127.0.0.1:8321"),
        api_key=os.environ.get("RECALLD_API_KEY"),
        pipeline=os.environ.get("RECALLD_PIPELINE", "support-docs"),
    )
    query_id = client.track(
        text="How do I reset my password?",
        results=[{"id": "password-reset", "score": 0.83}, {"id": "account-recovery", "score": 0.71}],
        embedding=[0.12, -0.53, 0.34],
        top_k=5,
        latency_ms=41.7,
        session_id="session-1",
        segments={"language": "en"},
    )
    client.feedback(query_id, "click", document_id="password-reset", rank=1)
    client.feedback(query_id, "thumb", value="up")
    is_delivered = client.close()
    print(json.dumps({"query_id": query_id, **client.stats}))
    raise SystemExit(0 if is_delivered and client.stats["sent"] == 3 else 1)


if __name__ == "__main__":
    main()
