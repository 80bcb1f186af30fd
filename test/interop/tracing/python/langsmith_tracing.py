"""The OpenTelemetry exporter of LangSmith."""

from provider import exporting_provider


def session(id):
    from langsmith import tracing_context

    return tracing_context(metadata={"session_id": id})


def start(framework):
    provider = exporting_provider()

    def stop():
        from langchain_core.tracers.langchain import get_client

        get_client().flush()
        provider.force_flush()

    return stop
