"""Retrieves with a custom search function, and gets an answer from a model through the OpenAI SDK."""

from openai import OpenAI

import corpus
from recorder import retrieved


def run(config):
    found = corpus.keyword_search(corpus.SINGLE, 2)
    retrieved("one retrieval", corpus.SINGLE, [(id, corpus.DOCUMENTS[id], score) for id, score in found])
    context = "\n".join(corpus.DOCUMENTS[id] for id, _ in found)
    messages = [{"role": "user", "content": f"{context}\n\n{corpus.SINGLE}"}]
    OpenAI().chat.completions.create(model="interop", messages=messages)
