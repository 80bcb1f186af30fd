"""Records what the program itself retrieved, one entry per retrieval, for comparison with its spans."""

import contextlib
import importlib.metadata
import json
import platform
import sys

retrievals = []
_session = None


@contextlib.contextmanager
def session(id):
    """Sets the session of the retrievals within this context."""
    global _session
    _session = id
    try:
        yield
    finally:
        _session = None


def retrieved(case, query, results, error=None):
    """Records a retrieval. `results` are (id, text, score); a retriever without ids or scores passes None."""
    retrievals.append(
        {
            "case": case,
            "query": query,
            "results": [{"id": id, "text": text, "score": score} for id, text, score in results],
            "error": error,
            "session": _session,
        }
    )


def write(packages):
    versions = {name: importlib.metadata.version(name) for name in packages}
    json.dump({"runtime": f"Python {platform.python_version()}", "versions": versions, "retrievals": retrievals}, sys.stdout)
