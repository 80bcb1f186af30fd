"""A Python 3.8 program that recalld calls as a retriever: it reads one JSON line per query and writes one per answer.

    retriever: {kind: command, command: [python3, examples/command_retriever.py, corpus.jsonl]}

The corpus has one JSON object with `_id` and `text` per line. Replace `search` with your own search.
Write only answers to standard output, and messages to standard error.
"""

import json
import re
import sys


def words_of(text):
    return set(re.findall(r"\w+", text.lower()))


with open(sys.argv[1] if len(sys.argv) > 1 else "corpus.jsonl", encoding="utf-8") as lines:
    CORPUS = [(document["_id"], document["text"]) for document in map(json.loads, lines)]
WORDS = {document_id: words_of(text) for document_id, text in CORPUS}


def search(text, k):
    """Returns the k documents that share the most words with the query, best first."""
    words = words_of(text)
    found = [{"id": i, "score": len(words & WORDS[i]), "text": body} for i, body in CORPUS if words & WORDS[i]]
    return sorted(found, key=lambda document: -document["score"])[:k]


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"documents": search(request["text"], request["k"])}
        except Exception as error:
            # Never include query text in the message.
            answer = {"error": {"code": "search_failed", "message": type(error).__name__}}
        # Without the flush, the answer would stay in the buffer.
        print(json.dumps({"id": request["id"], **answer}), flush=True)


if __name__ == "__main__":
    main()
