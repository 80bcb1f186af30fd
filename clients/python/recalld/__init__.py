"""Reports live queries and feedback from a RAG service to recalld, and reads recalld's results.

    from recalld import Client

    client = Client("http://127.0.0.1:8321", pipeline="support-docs")
    query_id = client.track(text="How do I reset it?", results=[{"id": "kb-104", "score": 0.83}])
    client.feedback(query_id, "thumb", value="up")
    client.close()  # once, before the process exits; otherwise the client sends buffered items for up to two seconds

Import the framework modules explicitly: recalld.asgi, recalld.django, recalld.langchain, recalld.llama_index.
"""

from .client import Client
from .context import Context, context
from .delivery import Drop, Stats
from .ids import content_id
from .reading import RecalldError, Rows, read
from .records import Document, Episode, FeedbackKind, Stage

__version__ = "0.1.0"
__all__ = [
    "Client",
    "Context",
    "Document",
    "Drop",
    "Episode",
    "FeedbackKind",
    "RecalldError",
    "Rows",
    "Stage",
    "Stats",
    "content_id",
    "context",
    "read",
]
