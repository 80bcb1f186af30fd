"""Documents, embedding and queries that all programs share."""

import hashlib
import math
import re

DOCUMENTS = {
    "kb-101": "Reset your password on the account page. The link in the mail expires after one hour.",
    "kb-102": "Change the delivery address before the parcel leaves the warehouse.",
    "kb-103": "Refunds arrive within five days on the card that paid for the order.",
    "kb-104": "A parcel that is late by three days counts as lost; we send a new one.",
    "kb-105": "Two-factor codes come from an app. Recovery codes replace a lost phone.",
    "kb-106": "Invoices are in the billing tab; it's \"Download all\" that makes an archive.",
    "kb-107": "Cancel a subscription at any time: it ends with the month that was paid.",
    "kb-108": "Gift cards can't be exchanged for money – they stay valid for three years.",
}

SINGLE = "How do I reset my password?"
HYBRID = "When does the refund for my order arrive?"
RERANKED = "Where can I download an invoice?"
FAILED = "Why does the search time out?"
EMPTY = "zzzz"
ASYNC = "Can I change the delivery address?"
STREAMED = "How do I cancel my subscription?"
AGENT = "My parcel is late and I lost my phone."
AGENT_QUERIES = ("late parcel lost", "lost phone recovery codes")
AGENT_ONCE = "My invoice is missing."

DIMENSIONS = 64


def words(text):
    return re.findall(r"[a-z]+", text.lower())


def embed(text):
    """Returns a unit vector of hashed words; the same text has the same vector in every process."""
    vector = [0.0] * DIMENSIONS
    for word in words(text):
        digest = hashlib.sha256(word.encode()).digest()
        vector[digest[0] % DIMENSIONS] += 1.0 if digest[1] % 2 == 0 else -1.0
    norm = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / norm for value in vector]


def keyword_search(query, k):
    """Returns (id, score) of the documents that share the most words with the query."""
    asked = set(words(query))
    found = [(id, float(len(asked & set(words(text))))) for id, text in DOCUMENTS.items()]
    return sorted(((id, score) for id, score in found if score > 0), key=lambda pair: -pair[1])[:k]


class SearchTimeout(Exception):
    """The store did not answer."""
