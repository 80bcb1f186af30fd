"""MLflow's autologging of LangChain, with its export over OTLP."""

import os

import mlflow


def session(id):
    return mlflow.tracing.context(session_id=id)


def start(framework):
    # With the endpoint of all signals, MLflow also exports metrics, over gRPC.
    os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ.pop("OTEL_EXPORTER_OTLP_ENDPOINT") + "/v1/traces"
    mlflow.langchain.autolog()

    def stop():
        from mlflow.tracing.provider import provider

        provider.get().shutdown()

    return stop
