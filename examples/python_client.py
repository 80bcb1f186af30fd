"""Reports a query and the user's feedback from a Python service.

    pip install ./clients/python
    RECALLD_URL=http://127.0.0.1:8321 python3 examples/python_client.py
"""

import json
import os
import time

from recalld import Client

# One client for the lifetime of the service.
client = Client(
    os.environ.get("RECALLD_URL", "http://127.0.0.1:8321"),
    api_key=os.environ.get("RECALLD_API_KEY"),
    pipeline=os.environ.get("RECALLD_PIPELINE", "support-docs"),
)


def retrieve(question):
    """Placeholder for the service's own retriever: an embedding model and a vector store."""
    return [0.12, -0.53, 0.34], [{"id": "password-reset", "score": 0.83}, {"id": "account-recovery", "score": 0.71}]


def answer(question, session_id):
    """Answers a question. The browser gets the id with the answer and returns it with the feedback."""
    started_at = time.perf_counter()
    embedding, documents = retrieve(question)
    query_id = client.track(
        text=question,
        embedding=embedding,
        results=documents,
        top_k=5,
        latency_ms=1000 * (time.perf_counter() - started_at),
        session_id=session_id,
        segments={"language": "en"},
    )
    return query_id, documents


query_id, _ = answer("How do I reset my password?", "session-1")
client.feedback(query_id, "click", document_id="password-reset", rank=1)
client.feedback(query_id, "thumb", value="up")

# At shutdown: sends the buffered items within five seconds.
client.close()
stats = client.stats()
print(json.dumps({"query_id": query_id, "sent": stats.sent, "dropped": sum(stats.dropped.values())}))
raise SystemExit(0 if stats.sent == 3 else 1)
