"""Builds the items of POST /v1/queries and POST /v1/feedback."""

from __future__ import annotations

import array
import base64
import datetime
import itertools
import json
import math
import sys
from typing import Any, Callable, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, TypedDict, Union

from .ids import content_id

Identifier = Union[str, int]
Time = Union[datetime.datetime, float, str]
FeedbackKind = Literal[
    "thumb", "rating", "click", "copy", "reformulation", "abandonment", "no_answer", "relevance", "citation"
]

FEEDBACK_KINDS = (
    "thumb", "rating", "click", "copy", "reformulation", "abandonment", "no_answer", "relevance", "citation"
)
MOST_RESULTS = 1000
_MOST_DIMENSIONS, _MOST_STAGES, _LONGEST_STAGE_NAME, _LONGEST_LATENCY_MS = 16_384, 10, 64, 86_400_000
_LONGEST_ID, _LONGEST_TEXT, _LONGEST_SHORT_TEXT = 1024, 100_000, 1000
_LARGEST_STEP = 1_000_000
_MOST_FIELDS, _LONGEST_FIELD, _MOST_SEGMENTS, _LONGEST_SEGMENT = 8, 128, 16, 256


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
    """The output of one retriever stage, such as candidate search or reranking. `side` is true for stages that run in
    parallel and whose results are merged later."""

    latency_ms: Optional[float]
    results: Optional[Iterable[Union[Identifier, Document]]]
    side: bool


class _NamedEpisode(TypedDict):
    id: Identifier


class Episode(_NamedEpisode, total=False):
    """A turn of an agent, which may retrieve several times to answer one question. `id` is the same for all retrievals
    of the turn. `step` is the position of the retrieval; by default, retrievals are ordered by `occurred_at`.
    `original_text` is the user's question before the agent rewrote it into `text`."""

    step: Optional[int]
    original_text: Optional[str]


class InvalidField(ValueError):
    """An invalid argument. The message names the field and never quotes its value."""


def query_item(fields: Mapping[str, Any], sample_rate: float) -> bytes:
    results, error = fields.get("results"), fields.get("error")
    if results is None and not error:
        raise InvalidField("results is missing; it may be omitted only if error is set")
    return _json(
        {
            "id": fields["id"],
            "pipeline": _required(identifier(fields.get("pipeline"), "pipeline"), "pipeline"),
            "occurred_at": _time(fields.get("occurred_at")),
            "text": _text(fields.get("text"), "text"),
            "results": _documents(() if results is None else results, "results"),
            "top_k": _number(fields.get("top_k"), "top_k", 1, 10_000, int),
            "session_id": identifier(fields.get("session_id"), "session_id"),
            "trace_id": identifier(fields.get("trace_id"), "trace_id"),
            "latency_ms": _number(fields.get("latency_ms"), "latency_ms", 0, _LONGEST_LATENCY_MS),
            "stages": _stages(fields.get("stages")),
            "embedding": _vector(fields.get("embedding")),
            "error": _error(error),
            "segments": _labels(fields.get("segments"), "segments", _MOST_SEGMENTS, _LONGEST_SEGMENT),
            "user_id": identifier(fields.get("user_id"), "user_id"),
            "versions": fields.get("versions"),
            "sampling": _sampling(fields.get("sampling"), sample_rate),
            "episode": _episode(fields.get("episode")),
        }
    )


def _error(given: Union[None, str, BaseException]) -> Optional[str]:
    """Returns the message of an error, or its class name if the message is empty. Returns None for an empty str, which
    does not count as an error."""
    if given is None or given == "":
        return None
    return (str(given) or type(given).__name__)[:_LONGEST_SHORT_TEXT]


def _sampling(given: Optional[Mapping[str, float]], sample_rate: float) -> Optional[Dict[str, float]]:
    """Returns the product of the host's and the client's sampling probabilities; None if the product is 1."""
    upstream = 1.0 if given is None else _number(given.get("probability"), "sampling.probability", 0, 1)
    if not upstream:
        raise InvalidField("sampling.probability must be more than 0 and at most 1")
    probability = upstream * sample_rate
    return None if probability == 1 else {"probability": probability}


def is_sampled(key: str, rate: float) -> bool:
    """Returns True if a session or episode belongs to the sample. Services in both languages sample the same sessions,
    because the client for Node.js uses the same hash: FNV-1a over UTF-16 code units, mixed by the finalizer of
    MurmurHash3."""
    if rate >= 1:
        return True
    units = array.array("H", key.encode("utf-16-le", "surrogatepass"))
    if sys.byteorder == "big":
        units.byteswap()
    mixed = 0x811C9DC5
    for unit in units:
        mixed = ((mixed ^ unit) * 0x01000193) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return (mixed ^ (mixed >> 16)) < rate * 2**32


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
    some = itertools.islice(given, _MOST_STAGES + 1)
    stages = [{key: value for key, value in one.items() if value is not None} for one in some]
    if len(stages) > _MOST_STAGES:
        raise InvalidField(f"stages has more than {_MOST_STAGES} stages")
    for stage in stages:
        name = _required(identifier(stage.get("name"), "stages[].name"), "stages[].name")
        if len(name) > _LONGEST_STAGE_NAME:
            raise InvalidField(f"stages[].name must have 1 to {_LONGEST_STAGE_NAME} characters")
        stage["name"] = name
        if "latency_ms" in stage:
            stage["latency_ms"] = _number(stage["latency_ms"], "stages[].latency_ms", 0, _LONGEST_LATENCY_MS)
        if "results" in stage:
            stage["results"] = _documents(stage["results"], "stages[].results")
    return stages


def _documents(given: Any, field: str) -> List[Dict[str, object]]:
    # The iterable may be infinite.
    documents = [_document(one, f"{field}[].id") for one in itertools.islice(given, MOST_RESULTS + 1)]
    if len(documents) > MOST_RESULTS:
        raise InvalidField(f"{field} has more than {MOST_RESULTS} documents")
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
        # JSON cannot represent NaN or infinity, so such a score is omitted; the document keeps its rank.
        if math.isfinite(value):
            item["score"] = value
    if own is not None:
        item["text"] = own
    fields = _labels(given.get("fields"), "fields", _MOST_FIELDS, _LONGEST_FIELD)
    if fields is not None:
        item["fields"] = fields
    return item


def _vector(given: Optional[Sequence[float]]) -> Optional[str]:
    """Returns the vector as little-endian float32 values in Base64."""
    if given is None:
        return None
    values = array.array("f", itertools.islice(given, _MOST_DIMENSIONS + 1))
    if not 0 < len(values) <= _MOST_DIMENSIONS:
        raise InvalidField(f"embedding must have 1 to {_MOST_DIMENSIONS} numbers")
    # In double precision, the sum of single-precision values cannot overflow.
    if not math.isfinite(sum(values)):
        raise InvalidField("embedding contains a number that is not finite in single precision")
    if sys.byteorder == "big":
        values.byteswap()
    return base64.b64encode(values.tobytes()).decode("ascii")


def _labels(
    given: Optional[Mapping[str, object]], field: str, most: int, longest: int
) -> Optional[Dict[str, str]]:
    if given is None:
        return None
    labels = {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in itertools.islice(given.items(), 2 * most)
        if value is not None
    }
    if len(labels) > most or any(len(value) > longest for value in labels.values()):
        raise InvalidField(f"{field} must have at most {most} values of at most {longest} characters")
    return labels


def _episode(given: Optional[Episode]) -> Optional[Dict[str, object]]:
    if given is None:
        return None
    episode: Dict[str, object] = {
        "id": _required(identifier(given.get("id"), "episode.id"), "episode.id"),
        "step": _number(given.get("step"), "episode.step", 0, _LARGEST_STEP, int),
        "original_text": _text(given.get("original_text"), "episode.original_text"),
    }
    return {key: value for key, value in episode.items() if value is not None}


def _text(given: Any, field: str) -> Optional[str]:
    if given is not None and (not isinstance(given, str) or len(given) > _LONGEST_TEXT):
        raise InvalidField(f"{field} must be a str of at most {_LONGEST_TEXT} characters")
    return None if given is None else str(given)


def _number(given: Any, field: str, least: int, most: int, kind: Callable[[Any], float] = float) -> Optional[float]:
    """Returns the number in a type that JSON can represent, and also accepts NumPy numbers."""
    if given is None:
        return None
    try:
        value = kind(given)
        if least <= value <= most and value == given:
            return value
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidField(f"{field} must be {'a whole number' if kind is int else 'a number'} from {least} to {most}")


def _time(given: Optional[Time]) -> str:
    """Returns a time in RFC 3339 and UTC. A float counts seconds since 1970, as time.time() does; a datetime without a
    time zone is local time."""
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
