"""Wraps a search in a custom span by OpenTelemetry's conventions, for frameworks whose retrievers are tools."""

import json

from opentelemetry import trace

import corpus
from recorder import retrieved


def search(case, query, k=2):
    """Searches the documents within a span, and returns their texts."""
    with trace.get_tracer("app").start_as_current_span("retrieval kb") as span:
        span.set_attribute("gen_ai.operation.name", "retrieval")
        span.set_attribute("gen_ai.retrieval.query.text", query)
        if query == corpus.FAILED:
            retrieved(case, query, [], error="SearchTimeout")
            raise corpus.SearchTimeout("no answer from the store")
        found = corpus.keyword_search(query, k)
        documents = [{"id": id, "score": score, "content": corpus.DOCUMENTS[id]} for id, score in found]
        span.set_attribute("gen_ai.retrieval.documents", json.dumps(documents))
    retrieved(case, query, [(id, corpus.DOCUMENTS[id], score) for id, score in found])
    return "\n".join(corpus.DOCUMENTS[id] for id, _ in found)
