"""Langfuse's SDK with its callback handler for LangChain; a second span processor exports to recalld."""

import os

from langfuse import Langfuse, propagate_attributes
from langfuse.langchain import CallbackHandler

from provider import exporting_provider


def session(id):
    return propagate_attributes(session_id=id)


def config():
    return {"callbacks": [CallbackHandler()]}


def start(framework):
    provider = exporting_provider()
    # Langfuse's own export goes nowhere: it needs an address, and this one refuses connections.
    client = Langfuse(public_key="pk", secret_key="sk", host="http://127.0.0.1:9", tracer_provider=provider)

    def stop():
        # The processor of recalld is the first one.
        provider._active_span_processor._span_processors[0].shutdown()
        os.environ["LANGFUSE_TRACING_ENABLED"] = "false"

    return stop
