"""Logfire, which traces Pydantic AI and exports to OTEL_EXPORTER_OTLP_ENDPOINT by itself."""

import logfire


def session(id):
    return logfire.set_baggage(**{"session.id": id})


def start(framework):
    logfire.configure(send_to_logfire=False, console=False, metrics=False, scrubbing=False)
    logfire.instrument_pydantic_ai()
    return logfire.shutdown
