"""Reads ranked documents in the shapes that retrievers return."""

from __future__ import annotations

import itertools
import uuid
from typing import Any, Iterable, List, Mapping, Optional

from .records import MOST_RESULTS, Document, InvalidField

# The daemon searches traced documents for an id in the same order.
_ID_KEYS = ("chunk_id", "document_id", "doc_id", "id", "file_id", "doc_uri", "source")
_TEXT_KEYS = ("page_content", "text", "content")
_METADATA = ("metadata", "meta", "payload")
_SCORE_KEYS = ("relevance_score", "score")


def documents_of(answer: Any) -> List[Document]:
    """Returns the documents of a list. An element may be an id, a mapping, a document object (of LangChain, LlamaIndex,
    Haystack and many stores), or a pair of a document and its score. Raises InvalidField for anything else."""
    if answer is None:
        return []
    if isinstance(answer, (str, bytes, Mapping)) or not isinstance(answer, Iterable):
        raise InvalidField("the retriever did not return a list of documents; pass results= to the decorator")
    # Reads one document more than allowed, so that a list that is too long is rejected instead of truncated.
    return [document_of(one) for one in itertools.islice(answer, MOST_RESULTS + 1)]


def document_of(given: Any) -> Document:
    if isinstance(given, (str, int)) and not isinstance(given, bool):
        return {"id": given}
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], (int, float)):
        document = document_of(given[0])
        document["score"] = float(given[1])
        return document
    node = _field(given, "node")
    if node is not None:  # NodeWithScore of LlamaIndex
        document = document_of(node)
        name, score = _identifier(_field(node, "node_id")), _number(_field(given, "score"))
        if name is not None:
            document["id"] = name
        if score is not None:
            document["score"] = score
        return document
    metadata = next((one for one in map(lambda key: _field(given, key), _METADATA) if isinstance(one, Mapping)), {})
    document = {}
    name = _identifier(_field(given, "id"))
    if name is None:
        name = _first(_identifier, metadata, _ID_KEYS)
    if name is None and isinstance(given, Mapping):
        name = _first(_identifier, given, _ID_KEYS)
    score = _number(_field(given, "score"))
    if score is None:
        score = _first(_number, metadata, _SCORE_KEYS)
    text = _first(_text, given, _TEXT_KEYS)
    if text is None:
        text = _first(_text, metadata, _TEXT_KEYS)
    if name is not None:
        document["id"] = name
    if score is not None:
        document["score"] = score
    if text is not None:
        document["text"] = text
    if isinstance(given, Mapping) and isinstance(given.get("fields"), Mapping):
        document["fields"] = given["fields"]
    if not document.keys() & {"id", "text"}:
        raise InvalidField("the retriever returned a document that has neither an id nor a text; pass results= to the decorator")
    return document


def _field(given: Any, name: str) -> Any:
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _first(read: Any, given: Any, names: Iterable[str]) -> Any:
    return next((value for value in (read(_field(given, name)) for name in names) if value is not None), None)


def _identifier(value: Any) -> Optional[str]:
    if isinstance(value, bool) or not isinstance(value, (str, int, uuid.UUID)) or value == "":
        return None
    return str(value)


def _number(value: Any) -> Optional[float]:
    if value is None or isinstance(value, (bool, str)):
        return None
    try:
        return float(value)  # includes NumPy numbers
    except (TypeError, ValueError):
        return None


def _text(value: Any) -> Optional[str]:
    return value if isinstance(value, str) and value else None
