"""A Haystack pipeline with an in-memory document store, a hybrid join and a ranker."""

import asyncio

from haystack import Document, Pipeline, component
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

import corpus
from recorder import retrieved


@component
class HashedWordsTextEmbedder:
    @component.output_types(embedding=list[float])
    def run(self, text: str):
        return {"embedding": corpus.embed(text)}

    @component.output_types(embedding=list[float])
    async def run_async(self, text: str):
        return {"embedding": corpus.embed(text)}


@component
class WordOverlapRanker:
    """Reranks by shared words."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]):
        asked = set(corpus.words(query))
        scored = [
            Document(id=document.id, content=document.content, score=len(asked & set(corpus.words(document.content))) / 10)
            for document in documents
        ]
        return {"documents": sorted(scored, key=lambda document: -document.score)[:2]}


@component
class FailingRetriever:
    @component.output_types(documents=list[Document])
    def run(self, query: str):
        raise corpus.SearchTimeout("no answer from the store")


def listed(documents):
    return [(document.id, document.content, document.score) for document in documents]


TEMPLATE = [
    ChatMessage.from_user(
        "Answer from this context:\n{% for document in documents %}{{ document.content }}\n{% endfor %}\nQuestion: {{ query }}"
    )
]


def rag(store, streaming_callback=None):
    pipeline = Pipeline()
    pipeline.add_component("embedder", HashedWordsTextEmbedder())
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=3))
    pipeline.add_component("prompt", ChatPromptBuilder(TEMPLATE, required_variables="*"))
    pipeline.add_component("llm", OpenAIChatGenerator(model="interop", streaming_callback=streaming_callback))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.messages")
    return pipeline


def asked(query):
    return {"embedder": {"text": query}, "prompt": {"query": query}}


def run(config):
    store = InMemoryDocumentStore()
    store.write_documents(
        [Document(id=id, content=text, embedding=corpus.embed(text)) for id, text in corpus.DOCUMENTS.items()]
    )

    result = rag(store).run(asked(corpus.SINGLE), include_outputs_from={"retriever"})
    retrieved("one retrieval", corpus.SINGLE, listed(result["retriever"]["documents"]))

    keywords = Pipeline()
    keywords.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    result = keywords.run({"retriever": {"query": corpus.HYBRID}})
    retrieved("keywords", corpus.HYBRID, listed(result["retriever"]["documents"]))

    reranking = Pipeline()
    reranking.add_component("retriever", InMemoryBM25Retriever(store, top_k=4))
    reranking.add_component("ranker", WordOverlapRanker())
    reranking.connect("retriever.documents", "ranker.documents")
    result = reranking.run(
        {"retriever": {"query": corpus.RERANKED}, "ranker": {"query": corpus.RERANKED}}, include_outputs_from={"retriever"}
    )
    # recalld keeps the scores of the retriever: those of a reranker have another scale.
    scores = {document.id: document.score for document in result["retriever"]["documents"]}
    ranked = listed(result["ranker"]["documents"])
    retrieved("rerank", corpus.RERANKED, [(id, text, scores[id]) for id, text, _ in ranked])

    failing = Pipeline()
    failing.add_component("retriever", FailingRetriever())
    try:
        failing.run({"retriever": {"query": corpus.FAILED}})
    except Exception:
        retrieved("error", corpus.FAILED, [], error="SearchTimeout")

    result = keywords.run({"retriever": {"query": corpus.EMPTY, "filters": {"field": "meta.none", "operator": "==", "value": "x"}}})
    retrieved("empty answer", corpus.EMPTY, listed(result["retriever"]["documents"]))

    result = asyncio.run(rag(store).run_async(asked(corpus.ASYNC), include_outputs_from={"retriever"}))
    retrieved("async", corpus.ASYNC, listed(result["retriever"]["documents"]))

    result = rag(store, streaming_callback=lambda chunk: None).run(asked(corpus.STREAMED), include_outputs_from={"retriever"})
    retrieved("streaming", corpus.STREAMED, listed(result["retriever"]["documents"]))

    # Two retrievers of one pipeline, whose results are joined.
    hybrid = Pipeline()
    hybrid.add_component("embedder", HashedWordsTextEmbedder())
    hybrid.add_component("vectors", InMemoryEmbeddingRetriever(store, top_k=3))
    hybrid.add_component("keywords", InMemoryBM25Retriever(store, top_k=3))
    hybrid.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=4))
    hybrid.connect("embedder.embedding", "vectors.query_embedding")
    hybrid.connect("vectors.documents", "joiner.documents")
    hybrid.connect("keywords.documents", "joiner.documents")
    query = corpus.AGENT_QUERIES[0]
    result = hybrid.run(
        {"embedder": {"text": query}, "keywords": {"query": query}}, include_outputs_from={"vectors", "keywords"}
    )
    retrieved("hybrid, keywords", query, listed(result["keywords"]["documents"]))
    retrieved("hybrid, vectors", query, listed(result["vectors"]["documents"]))
