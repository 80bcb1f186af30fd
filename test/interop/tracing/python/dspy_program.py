"""A module of DSPy with a retriever."""

import os

import dspy

import corpus
from recorder import retrieved


class Passage(dict):
    @property
    def long_text(self):
        return self["long_text"]


class KeywordSearch:
    def __call__(self, query, k=3, **kwargs):
        if query == corpus.FAILED:
            raise corpus.SearchTimeout("no answer from the store")
        return [Passage(long_text=corpus.DOCUMENTS[id]) for id, _ in corpus.keyword_search(query, k)]


class Rag(dspy.Module):
    def __init__(self, case):
        super().__init__()
        self.case = case
        self.retrieve = dspy.Retrieve(k=3)
        self.respond = dspy.Predict("context, question -> answer")

    def forward(self, question):
        passages = self.retrieve(question).passages
        retrieved(self.case, question, [(None, text, None) for text in passages])
        return self.respond(context=passages, question=question)


def run(config):
    llm = dspy.LM("openai/interop", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", cache=False)
    dspy.configure(lm=llm, rm=KeywordSearch())
    for case, question in [("one retrieval", corpus.SINGLE), ("empty answer", corpus.EMPTY)]:
        try:
            Rag(case)(question=question)
        except Exception as error:
            # The fixed answer of the language model has none of DSPy's fields.
            if "parse" not in str(error):
                raise
    try:
        Rag("error")(question=corpus.FAILED)
    except corpus.SearchTimeout:
        retrieved("error", corpus.FAILED, [], error="SearchTimeout")
