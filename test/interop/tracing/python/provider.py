"""A tracer provider that exports over OTLP/HTTP, as protobuf with gzip."""

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def processor():
    return BatchSpanProcessor(OTLPSpanExporter())


def exporting_provider():
    """Returns a new provider, which is also the global provider."""
    provider = TracerProvider()
    provider.add_span_processor(processor())
    trace.set_tracer_provider(provider)
    return provider
