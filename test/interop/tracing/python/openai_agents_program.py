"""An agent of the OpenAI Agents SDK whose tool searches the documents."""

import asyncio

from agents import Agent, Runner, function_tool, set_default_openai_api

import corpus
from own_span import search


@function_tool
def search_docs(query: str) -> str:
    """Searches the help pages."""
    return search("agent", query)


def run(config):
    set_default_openai_api("chat_completions")
    # In one event loop, because the SDK keeps its connections.
    asyncio.run(ask())


async def ask():
    await Runner.run(Agent(name="support", model="interop", tools=[search_docs]), corpus.AGENT)
    chat = Agent(name="chat", model="interop")
    await Runner.run(chat, search("one retrieval", corpus.SINGLE))
    await asyncio.to_thread(search, "thread", corpus.ASYNC)
    search("empty answer", corpus.EMPTY)
    try:
        search("error", corpus.FAILED)
    except corpus.SearchTimeout:
        pass
    async for _ in Runner.run_streamed(chat, search("streaming", corpus.STREAMED)).stream_events():
        pass
