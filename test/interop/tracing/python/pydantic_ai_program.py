"""An agent of Pydantic AI whose tool searches the documents."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

import corpus
from own_span import search


def run(config):
    agent = Agent(OpenAIChatModel("interop"))

    @agent.tool_plain
    def search_docs(query: str) -> str:
        """Searches the help pages."""
        return search("agent", query)

    agent.run_sync(corpus.AGENT)

    chat = Agent(OpenAIChatModel("interop"))
    chat.run_sync(search("one retrieval", corpus.SINGLE))
    asyncio.run(chat.run(search("async", corpus.ASYNC)))
    search("empty answer", corpus.EMPTY)
    try:
        search("error", corpus.FAILED)
    except corpus.SearchTimeout:
        pass

    async def stream():
        async with chat.run_stream(search("streaming", corpus.STREAMED)) as answer:
            async for _ in answer.stream_text():
                pass

    asyncio.run(stream())
