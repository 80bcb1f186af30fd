"""A query engine on LlamaIndex, and its agent, with a vector index, a keyword retriever and a reranker."""

import asyncio

from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.llms.openai_like import OpenAILike

import corpus
from recorder import retrieved

dispatcher = get_dispatcher(__name__)
# Scores of the retriever before the reranker.
SCORES = {}
NODES = {id: TextNode(id_=id, text=text) for id, text in corpus.DOCUMENTS.items()}


class HashedWords(BaseEmbedding):
    def _get_query_embedding(self, query):
        return corpus.embed(query)

    async def _aget_query_embedding(self, query):
        return corpus.embed(query)

    def _get_text_embedding(self, text):
        return corpus.embed(text)


class KeywordRetriever(BaseRetriever):
    def _retrieve(self, query_bundle):
        if query_bundle.query_str == corpus.FAILED:
            raise corpus.SearchTimeout("no answer from the store")
        return [NodeWithScore(node=NODES[id], score=score) for id, score in corpus.keyword_search(query_bundle.query_str, 3)]


class WordOverlap(BaseNodePostprocessor):
    """Reranks by shared words, with the events that every reranker of LlamaIndex emits."""

    def _postprocess_nodes(self, nodes, query_bundle=None):
        dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=2, model_name="word-overlap"))
        SCORES.update({node.node.node_id: node.score for node in nodes})
        asked = set(corpus.words(query_bundle.query_str))
        scored = [
            NodeWithScore(node=node.node, score=len(asked & set(corpus.words(node.node.get_content()))) / 10)
            for node in nodes
        ]
        ranked = sorted(scored, key=lambda node: -node.score)[:2]
        dispatcher.event(ReRankEndEvent(nodes=ranked))
        return ranked


def listed(nodes):
    return [(node.node.node_id, node.node.get_content(), node.score) for node in nodes]


def run(config):
    import os

    Settings.embed_model = HashedWords()
    Settings.llm = OpenAILike(
        model="interop", is_chat_model=True, api_base=os.environ["OPENAI_BASE_URL"], api_key="none", context_window=8000
    )
    index = VectorStoreIndex(list(NODES.values()))
    vectors = index.as_retriever(similarity_top_k=3)
    keywords = KeywordRetriever()

    answer = RetrieverQueryEngine.from_args(vectors).query(corpus.SINGLE)
    retrieved("one retrieval", corpus.SINGLE, listed(answer.source_nodes))

    hybrid = QueryFusionRetriever([vectors, keywords], similarity_top_k=4, num_queries=1, use_async=False, mode="reciprocal_rerank")
    retrieved("hybrid", corpus.HYBRID, listed(hybrid.retrieve(corpus.HYBRID)))

    reranking = RetrieverQueryEngine.from_args(vectors, node_postprocessors=[WordOverlap()])
    ranked = reranking.query(corpus.RERANKED).source_nodes
    # recalld keeps the scores of the retriever: those of a reranker have another scale.
    retrieved("rerank", corpus.RERANKED, [(id, text, SCORES[id]) for id, text, _ in listed(ranked)])

    try:
        RetrieverQueryEngine.from_args(keywords).query(corpus.FAILED)
    except corpus.SearchTimeout:
        retrieved("error", corpus.FAILED, [], error="SearchTimeout")

    retrieved("empty answer", corpus.EMPTY, listed(keywords.retrieve(corpus.EMPTY)))

    async def ask():
        return await RetrieverQueryEngine.from_args(vectors).aquery(corpus.ASYNC)

    retrieved("async", corpus.ASYNC, listed(asyncio.run(ask()).source_nodes))

    streaming = RetrieverQueryEngine.from_args(vectors, streaming=True).query(corpus.STREAMED)
    for _ in streaming.response_gen:
        pass
    retrieved("streaming", corpus.STREAMED, listed(streaming.source_nodes))

    # Two retrievals of one agent.
    from llama_index.core.agent.workflow import FunctionAgent

    async def search_docs(query: str) -> str:
        """Searches the help pages."""
        nodes = await index.as_retriever(similarity_top_k=2).aretrieve(query)
        retrieved("agent", query, listed(nodes))
        return "\n".join(node.node.get_content() for node in nodes)

    async def run_agent():
        Settings.llm.is_function_calling_model = True
        return await FunctionAgent(tools=[search_docs], llm=Settings.llm, streaming=False).run(corpus.AGENT)

    asyncio.run(run_agent())
