"""OpenLLMetry."""

import contextlib

from opentelemetry.instrumentation.langchain import LangchainInstrumentor

from provider import exporting_provider

_session = None


@contextlib.contextmanager
def session(id):
    global _session
    _session = id
    yield


def config():
    """Its metadata become association properties."""
    return {"metadata": {"session_id": _session}}


def start(framework):
    provider = exporting_provider()
    LangchainInstrumentor().instrument(tracer_provider=provider)
    return provider.shutdown
