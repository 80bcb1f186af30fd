"""OpenLLMetry: its instrumentation alone for LangChain, and the Traceloop SDK for LlamaIndex."""

import contextlib
import os

from provider import exporting_provider

_framework = _session = None


@contextlib.contextmanager
def session(id):
    global _session
    _session = id
    if _framework == "llamaindex":
        from traceloop.sdk import Traceloop

        Traceloop.set_association_properties({"session_id": id})
    yield


def config():
    """Returns a config whose metadata becomes association properties."""
    return {"metadata": {"session_id": _session}}


def start(framework):
    global _framework
    _framework = framework
    if framework == "llamaindex":
        return start_sdk()
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    provider = exporting_provider()
    LangchainInstrumentor().instrument(tracer_provider=provider)
    return provider.shutdown


def start_sdk():
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.llamaindex import LlamaIndexInstrumentor
    from traceloop.sdk import Traceloop
    from traceloop.sdk.instruments import Instruments
    from traceloop.sdk.tracing.tracing import TracerWrapper

    # The SDK ignores OTEL_SERVICE_NAME.
    service = os.environ["OTEL_SERVICE_NAME"]
    Traceloop.init(service, exporter=OTLPSpanExporter(), instruments={Instruments.LLAMA_INDEX}, telemetry_enabled=False)
    # The SDK looks for the distribution `llama-index`, and traces nothing where only `llama-index-core` is installed.
    LlamaIndexInstrumentor().instrument()
    return TracerWrapper().flush
