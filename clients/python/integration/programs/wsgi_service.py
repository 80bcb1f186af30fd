"""A service that answers each request with its process id."""

import os

from recalld import Client

# The interval is so long that only the exit handler sends the buffered items.
client = Client(os.environ["RECALLD_URL"], pipeline=os.environ["RECALLD_PIPELINE"], flush_interval=3600)
# With --preload, the process that forks the workers runs this call.
client.track(id=f"at-import-{os.getpid()}", text="at import", results=["a"])


def application(environ, start_response):
    client.track(id=environ["PATH_INFO"].strip("/"), text="How do I pay?", results=["a"])
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
