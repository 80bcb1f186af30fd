"""An agent of CrewAI whose tool searches the documents."""

import os

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

import corpus
from own_span import search


@tool("search_docs")
def search_docs(query: str) -> str:
    """Searches the help pages."""
    return search("agent", query)


def run(config):
    llm = LLM(model="openai/interop", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
    support = Agent(role="support", goal="Answer users.", backstory="Knows the help pages.", tools=[search_docs], llm=llm)
    task = Task(description=corpus.AGENT, expected_output="An answer.", agent=support)
    Crew(agents=[support], tasks=[task]).kickoff()

    search("one retrieval", corpus.SINGLE)
    search("empty answer", corpus.EMPTY)
    try:
        search("error", corpus.FAILED)
    except corpus.SearchTimeout:
        pass
