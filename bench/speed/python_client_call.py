"""Microseconds that each call of `Client.track` took, as a JSON list for each round: python_client_call.py URL ROUNDS CALLS"""

import json
import math
import sys
import time

from recalld import Client

url, rounds, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
embedding = [math.sin(number) for number in range(384)]
results = [{"id": f"chunk-{number}", "score": 1 - number / 10} for number in range(10)]
client = Client(url, pipeline="docs")
measured = []
for _ in range(rounds):
    took = []
    for call in range(calls):
        started_at = time.perf_counter()
        client.track(
            text="How do I change my delivery address?", embedding=embedding, results=results, top_k=10, latency_ms=42
        )
        took.append((time.perf_counter() - started_at) * 1e6)
        # Some thousand queries a second, as a busy service has them.
        if call % 10 == 9:
            time.sleep(0.001)
    measured.append(took)
client.close()
print(json.dumps(measured))
