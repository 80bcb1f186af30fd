"""Reads recalld's results for notebooks and scripts. Unlike the client, `read` waits for responses and
raises errors."""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

if TYPE_CHECKING:
    import pandas

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
# The largest page size that all list endpoints allow.
_PAGE = 100


class RecalldError(Exception):
    """A request that failed. `code` is recalld's error code (docs/reference/errors.md), or None if recalld did not
    respond."""

    def __init__(self, message: str, code: Optional[str] = None, status: Optional[int] = None) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class Rows(List[Dict[str, Any]]):
    """Rows of a response, as JSON objects."""

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a data frame. Nested objects become columns such as `metrics.ndcg@10.mean`, and times become timestamps in
        UTC. Needs pandas."""
        import pandas

        frame = pandas.json_normalize(list(self))
        for name in frame.columns:
            values = frame[name].dropna()
            if len(values) > 0 and all(isinstance(one, str) and _TIME.fullmatch(one) for one in values):
                frame[name] = pandas.to_datetime(frame[name], utc=True, format="ISO8601")
        return frame


def read(
    path: str,
    *,
    rows: Optional[str] = None,
    url: Optional[str] = None,
    api_key: Optional[str] = None,
    max_rows: int = 10_000,
    timeout: float = 30.0,
    **parameters: Union[None, str, int, float, bool],
) -> Rows:
    """Reads a GET endpoint of the HTTP API (docs/reference/http.md), for example `read("golden-runs", pipeline="faq")`.

    path: the endpoint without `/v1/`. parameters: the query parameters of the endpoint; use `from_` for `from`.
    rows: path of the list within the response, such as `measures.query_density.series`; default: the field `items`, or
    the whole response as one row if it has no field `items`. Reads all pages, up to `max_rows` rows.
    url: default RECALLD_URL, else http://127.0.0.1:8321. api_key: default RECALLD_API_KEY; the key needs the scope `read`.

    Raises RecalldError if recalld cannot be reached or rejects the request.
    """
    base = (url or os.environ.get("RECALLD_URL") or "http://127.0.0.1:8321").rstrip("/")
    key = (api_key or os.environ.get("RECALLD_API_KEY") or "").strip()
    address = f"{base}/v1/{urllib.parse.quote(path.strip('/'), safe='/:@')}"
    query = {name.rstrip("_"): _parameter(value) for name, value in parameters.items() if value is not None}
    found = Rows()
    while True:
        answer = _get(address, query, key, timeout)
        found.extend(_rows_of(answer, rows))
        cursor = answer.get("next_cursor")
        if cursor is None or len(found) >= max_rows:
            del found[max_rows:]
            return found
        query = {"limit": str(_PAGE), **query, "cursor": str(cursor)}


def _parameter(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _rows_of(answer: Dict[str, Any], place: Optional[str]) -> List[Dict[str, Any]]:
    if place is None:
        items = answer.get("items")
        return items if isinstance(items, list) else [answer]
    value: Any = answer
    for name in place.split("."):
        if not isinstance(value, dict) or name not in value:
            known = ", ".join(value) if isinstance(value, dict) else "none"
            raise RecalldError(f"The response has no {place}: there is no field {name}. The fields at that place are: {known}.")
        value = value[name]
    listed = value if isinstance(value, list) else [] if value is None else [value]
    return [one if isinstance(one, dict) else {"value": one} for one in listed]


def _get(address: str, query: Dict[str, str], key: str, timeout: float) -> Dict[str, Any]:
    headers = {"Accept": "application/json"}
    if key:
        headers["Authorization"] = "Bearer " + key
    target = address + ("?" + urllib.parse.urlencode(query) if query else "")
    try:
        with urllib.request.urlopen(urllib.request.Request(target, None, headers), timeout=timeout) as response:
            body = json.loads(response.read())
    except urllib.error.HTTPError as error:
        raise _rejection(error, address) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise RecalldError(f"{address} cannot be read ({reason}). Pass the address of recalld as url.") from error
    if not isinstance(body, dict):
        raise RecalldError(f"{address} did not return a JSON object. Pass the address of recalld as url.")
    return body


def _rejection(error: urllib.error.HTTPError, address: str) -> RecalldError:
    try:
        problem = json.loads(error.read(64 * 1024))
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError, OSError):
        code, detail = None, str(error.reason)
    return RecalldError(f"{address}: {error.code}: {detail}", code, error.code)
