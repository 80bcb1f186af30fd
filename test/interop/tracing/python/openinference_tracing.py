"""OpenInference's instrumentations, one for each framework."""

import importlib

from openinference.instrumentation import using_session

from provider import exporting_provider

INSTRUMENTORS = {
    "langchain": ("langchain", "LangChainInstrumentor"),
    "langgraph": ("langchain", "LangChainInstrumentor"),
    "llamaindex": ("llama_index", "LlamaIndexInstrumentor"),
    "haystack": ("haystack", "HaystackInstrumentor"),
    "dspy": ("dspy", "DSPyInstrumentor"),
    "crewai": ("crewai", "CrewAIInstrumentor"),
    "agno": ("agno", "AgnoInstrumentor"),
    "openai_agents": ("openai_agents", "OpenAIAgentsInstrumentor"),
}

session = using_session


def start(framework):
    provider = exporting_provider()
    module, name = INSTRUMENTORS[framework]
    instrumentor = getattr(importlib.import_module(f"openinference.instrumentation.{module}"), name)
    instrumentor().instrument(tracer_provider=provider)
    return provider.shutdown
