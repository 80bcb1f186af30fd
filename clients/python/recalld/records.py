"""Builds the items of POST /v1/queries and POST /v1/feedback."""

from __future__ import annotations

import array
import base64
import datetime
import json
import math
import sys
from typing import Any, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, TypedDict, Union

from .ids import content_id

Identifier = Union[str, int]
Time = Union[datetime.datetime, float, str]
FeedbackKind = Literal["thumb", "rating", "click", "copy", "reformulation", "abandonment", "no_answer", "relevance"]

FEEDBACK_KINDS = ("thumb", "rating", "click", "copy", "reformulation", "abandonment", "no_answer", "relevance")
_MOST_RESULTS, _MOST_DIMENSIONS, _MOST_STAGES, _LONGEST_STAGE_NAME = 1000, 16_384, 10, 64
_LONGEST_ID, _LONGEST_TEXT, _LONGEST_SHORT_TEXT = 1024, 100_000, 1000
_MOST_FIELDS, _LONGEST_FIELD = 8, 128


class Document(TypedDict, total=False):
    """A retrieved document. Without an `id`, the id is derived from `text`; see `content_id`. `fields` is metadata that
    isolation rules compare, such as the region: at most 8 values of at most 128 characters."""

    id: Identifier
    score: Optional[float]
    text: Optional[str]
    fields: Optional[Mapping[str, object]]


class _NamedStage(TypedDict):
    name: str


class Stage(_NamedStage, total=False):
    """The output of one retriever stage, such as candidate search or a reranker. `side` is true for parallel stages, whose
    results are joined later."""

    latency_ms: Optional[float]
    results: Optional[Iterable[Union[Identifier, Document]]]
    side: bool


class InvalidField(ValueError):
    """An invalid argument. The message names the field and never quotes its value."""


def query_item(
    id: str,
    pipeline: Optional[str],
    results: Optional[Iterable[Union[Identifier, Document]]],
    occurred_at: Optional[Time],
    embedding: Optional[Sequence[float]],
    error: Union[None, str, BaseException],
    segments: Optional[Mapping[str, object]],
    fields: Mapping[str, Any],
) -> bytes:
    if results is None and not error:
        raise InvalidField("results is missing; it may be omitted only together with an error")
    documents = _documents(results or (), "results")
    text = fields.get("text")
    if text is not None and (not isinstance(text, str) or len(text) > _LONGEST_TEXT):
        raise InvalidField(f"text must be a str of at most {_LONGEST_TEXT} characters")
    return _json(
        {
            **fields,
            "id": id,
            "pipeline": _required(pipeline, "pipeline"),
            "occurred_at": _time(occurred_at),
            "results": documents,
            "stages": _stages(fields.get("stages")),
            "embedding": _vector(embedding),
            "error": (str(error) or type(error).__name__)[:_LONGEST_SHORT_TEXT] if error else None,
            "segments": _labels(segments),
            "session_id": identifier(fields.get("session_id"), "session_id"),
            "user_id": identifier(fields.get("user_id"), "user_id"),
        }
    )


def feedback_item(
    id: str, pipeline: Optional[str], query_id: Any, kind: Any, occurred_at: Optional[Time], fields: Mapping[str, Any]
) -> bytes:
    if kind not in FEEDBACK_KINDS:
        raise InvalidField("kind must be one of " + ", ".join(FEEDBACK_KINDS))
    return _json(
        {
            **fields,
            "id": id,
            "pipeline": _required(pipeline, "pipeline"),
            "query_id": _required(identifier(query_id, "query_id"), "query_id"),
            "kind": kind,
            "occurred_at": _time(occurred_at),
            "document_id": identifier(fields.get("document_id"), "document_id"),
            "user_id": identifier(fields.get("user_id"), "user_id"),
        }
    )


def identifier(value: object, field: str) -> Optional[str]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidField(f"{field} must be a str or an int")
    text = str(value)
    if not 0 < len(text) <= _LONGEST_ID:
        raise InvalidField(f"{field} must have 1 to {_LONGEST_ID} characters")
    return text


def _required(value: Optional[str], field: str) -> str:
    if value is None:
        raise InvalidField(f"{field} is missing")
    return value


def _stages(given: Optional[Iterable[Stage]]) -> Optional[List[Dict[str, object]]]:
    if given is None:
        return None
    stages = [{key: value for key, value in one.items() if value is not None} for one in given]
    if len(stages) > _MOST_STAGES:
        raise InvalidField(f"stages has more than {_MOST_STAGES}")
    for stage in stages:
        name = _required(identifier(stage.get("name"), "stages[].name"), "stages[].name")
        if len(name) > _LONGEST_STAGE_NAME:
            raise InvalidField(f"stages[].name must have 1 to {_LONGEST_STAGE_NAME} characters")
        stage["name"] = name
        if "results" in stage:
            stage["results"] = _documents(stage["results"], "stages[].results")
    return stages


def _documents(given: Any, field: str) -> List[Dict[str, object]]:
    documents = [_document(one, f"{field}[].id") for one in given]
    if len(documents) > _MOST_RESULTS:
        raise InvalidField(f"{field} has more than {_MOST_RESULTS} documents")
    return documents


def _document(given: Union[Identifier, Document], field: str) -> Dict[str, object]:
    if not isinstance(given, Mapping):
        return {"id": _required(identifier(given, field), field)}
    text = given.get("text")
    own = text if isinstance(text, str) else None
    name = identifier(given.get("id"), field)
    if name is None and own is not None:
        name = content_id(own)
    item: Dict[str, object] = {"id": _required(name, field)}
    score = given.get("score")
    if score is not None:
        value = float(score)
        # JSON cannot represent NaN or infinity, so the score is omitted but the ranking is kept.
        if math.isfinite(value):
            item["score"] = value
    if own is not None:
        item["text"] = own
    fields = _labels(given.get("fields"))
    if fields is not None:
        if len(fields) > _MOST_FIELDS or any(len(value) > _LONGEST_FIELD for value in fields.values()):
            raise InvalidField(f"fields must be at most {_MOST_FIELDS} of at most {_LONGEST_FIELD} characters")
        item["fields"] = fields
    return item


def _vector(given: Optional[Sequence[float]]) -> Optional[str]:
    """Returns the vector as little-endian float32 values in Base64."""
    if given is None:
        return None
    values = array.array("f", (float(one) for one in given))
    if not 0 < len(values) <= _MOST_DIMENSIONS:
        raise InvalidField(f"embedding must have 1 to {_MOST_DIMENSIONS} numbers")
    if not all(map(math.isfinite, values)):
        raise InvalidField("embedding contains a number that is not finite in single precision")
    if sys.byteorder == "big":
        values.byteswap()
    return base64.b64encode(values.tobytes()).decode("ascii")


def _labels(given: Optional[Mapping[str, object]]) -> Optional[Dict[str, str]]:
    if given is None:
        return None
    labels = {key: value for key, value in given.items() if value is not None}
    return {str(key): str(value).lower() if isinstance(value, bool) else str(value) for key, value in labels.items()}


def _time(given: Optional[Time]) -> str:
    """Returns RFC 3339 in UTC. A float is seconds since 1970, as in time.time(); a datetime without a zone is local time."""
    if isinstance(given, str):
        return given
    if given is None or isinstance(given, datetime.datetime):
        at = (given or datetime.datetime.now(datetime.timezone.utc)).astimezone(datetime.timezone.utc)
    else:
        at = datetime.datetime.fromtimestamp(float(given), datetime.timezone.utc)
    return at.isoformat(timespec="milliseconds")


def _json(fields: Mapping[str, object]) -> bytes:
    """Returns an item as JSON without None fields. Non-ASCII is escaped, including unpaired surrogates."""
    return json.dumps({key: value for key, value in fields.items() if value is not None}, allow_nan=False).encode("ascii")
