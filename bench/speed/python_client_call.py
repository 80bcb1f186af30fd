"""Microseconds that each call of `Client.track` took, as a JSON list for each round:
python_client_call.py URL ROUNDS CALLS THREADS"""

import json
import math
import sys
import threading
import time

from recalld import Client

url = sys.argv[1]
rounds, calls, threads = map(int, sys.argv[2:])
# Some thousand queries a second in all, as a busy service has them.
pause = threads * 0.0005
embedding = [math.sin(number) for number in range(384)]
results = [{"id": f"chunk-{number}", "score": 1 - number / 10} for number in range(10)]
client = Client(url, pipeline="docs")


def call_often(took):
    for _ in range(calls // threads):
        started_at = time.perf_counter()
        client.track(
            text="How do I change my delivery address?", embedding=embedding, results=results, top_k=10, latency_ms=42
        )
        took.append((time.perf_counter() - started_at) * 1e6)
        time.sleep(pause)


measured = []
for _ in range(rounds):
    took = []
    callers = [threading.Thread(target=call_often, args=(took,)) for _ in range(threads)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    measured.append(took)
    # A round is smaller than the buffer, so that no query is dropped.
    if not client.flush(60):
        sys.exit("The daemon does not accept the queries.")
client.close()
print(json.dumps(measured))
