"""An agent of Agno whose tool searches the documents."""

import asyncio
import os

from agno.agent import Agent
from agno.models.openai.like import OpenAILike

import corpus
from own_span import search


def model():
    return OpenAILike(id="interop", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")


def search_docs(query: str) -> str:
    """Searches the help pages."""
    return search("agent", query)


def run(config):
    Agent(model=model(), tools=[search_docs], telemetry=False).run(corpus.AGENT, session_id="session-7")

    chat = Agent(model=model(), telemetry=False)
    chat.run(search("one retrieval", corpus.SINGLE))
    asyncio.run(chat.arun(search("async", corpus.ASYNC)))
    search("empty answer", corpus.EMPTY)
    try:
        search("error", corpus.FAILED)
    except corpus.SearchTimeout:
        pass
    for _ in chat.run(search("streaming", corpus.STREAMED), stream=True):
        pass
