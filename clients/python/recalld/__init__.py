"""Tells recalld of live queries and feedback, from within the service that answers them.

    from recalld import Client

    client = Client("http://127.0.0.1:8321", pipeline="support-docs")
    query_id = client.track(text="How do I reset it?", results=[{"id": "kb-104", "score": 0.83}])
    client.feedback(query_id, "thumb", value="up")
    client.close()  # once, when the process ends; a process that ends without it sends what is left for two seconds
"""

from .client import Client
from .delivery import Drop, Stats
from .ids import content_id
from .records import Document, FeedbackKind, Stage

__version__ = "0.1.0"
__all__ = ["Client", "Document", "Drop", "FeedbackKind", "Stage", "Stats", "content_id"]
