"""A RAG chain on LangChain, and an agent on LangGraph, with a vector store, a keyword retriever and a reranker."""

import asyncio

from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI

import corpus
from recorder import retrieved


class HashedWords(Embeddings):
    def embed_documents(self, texts):
        return [corpus.embed(text) for text in texts]

    def embed_query(self, text):
        return corpus.embed(text)


class KeywordRetriever(BaseRetriever):
    k: int = 3

    def _get_relevant_documents(self, query, *, run_manager):
        if query == corpus.FAILED:
            raise corpus.SearchTimeout("no answer from the store")
        return [
            Document(id=id, page_content=corpus.DOCUMENTS[id], metadata={"score": score})
            for id, score in corpus.keyword_search(query, self.k)
        ]


class WordOverlap(BaseDocumentCompressor):
    """Reranks by shared words."""

    def compress_documents(self, documents, query, callbacks=None):
        asked = set(corpus.words(query))
        scored = [(document, len(asked & set(corpus.words(document.page_content))) / 10) for document in documents]
        ranked = sorted(scored, key=lambda pair: -pair[1])[:2]
        return [
            Document(
                id=document.id,
                page_content=document.page_content,
                metadata={**document.metadata, "relevance_score": score},
            )
            for document, score in ranked
        ]


def listed(documents):
    def score(document):
        return document.metadata.get("relevance_score", document.metadata.get("score"))

    return [(document.id, document.page_content, score(document)) for document in documents]


def chain_of(retriever, llm, seen):
    prompt = ChatPromptTemplate.from_template("Answer from this context:\n{context}\n\nQuestion: {question}")

    def text_of(documents):
        seen.append(documents)
        return "\n".join(document.page_content for document in documents)

    return {"context": retriever | text_of, "question": RunnablePassthrough()} | prompt | llm | StrOutputParser()


def run(config):
    llm = ChatOpenAI(model="interop", temperature=0)
    store = InMemoryVectorStore(HashedWords())
    store.add_texts(list(corpus.DOCUMENTS.values()), ids=list(corpus.DOCUMENTS))
    vectors = store.as_retriever(search_kwargs={"k": 3})
    keywords = KeywordRetriever()

    seen = []
    chain_of(vectors, llm, seen).invoke(corpus.SINGLE, config)
    retrieved("one retrieval", corpus.SINGLE, listed(seen.pop()))

    hybrid = EnsembleRetriever(retrievers=[vectors, keywords], weights=[0.5, 0.5])
    retrieved("hybrid", corpus.HYBRID, listed(hybrid.invoke(corpus.HYBRID, config)))

    reranking = ContextualCompressionRetriever(base_retriever=hybrid, base_compressor=WordOverlap())
    retrieved("hybrid with rerank", corpus.RERANKED, listed(reranking.invoke(corpus.RERANKED, config)))

    try:
        chain_of(keywords, llm, seen).invoke(corpus.FAILED, config)
    except corpus.SearchTimeout:
        retrieved("error", corpus.FAILED, [], error="SearchTimeout")

    retrieved("empty answer", corpus.EMPTY, listed(keywords.invoke(corpus.EMPTY, config)))

    asyncio.run(chain_of(vectors, llm, seen).ainvoke(corpus.ASYNC, config))
    retrieved("async", corpus.ASYNC, listed(seen.pop()))

    for _ in chain_of(vectors, llm, seen).stream(corpus.STREAMED, config):
        pass
    retrieved("streaming", corpus.STREAMED, listed(seen.pop()))


def run_agent(config):
    from langchain.agents import create_agent

    store = InMemoryVectorStore(HashedWords())
    store.add_texts(list(corpus.DOCUMENTS.values()), ids=list(corpus.DOCUMENTS))
    retriever = store.as_retriever(search_kwargs={"k": 2})

    @tool
    def search_docs(query: str) -> str:
        """Searches the help pages."""
        documents = retriever.invoke(query)
        retrieved(case, query, listed(documents))
        return "\n".join(document.page_content for document in documents)

    agent = create_agent(ChatOpenAI(model="interop", temperature=0), [search_docs])
    case = "agent, one retrieval"
    agent.invoke({"messages": [("user", corpus.AGENT_ONCE)]}, config)
    case = "agent"
    question = {"messages": [("user", corpus.AGENT)]}
    agent.invoke(question, config)
    asyncio.run(agent.ainvoke(question, config))
    for _ in agent.stream(question, config):
        pass
