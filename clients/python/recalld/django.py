"""Middleware for Django, synchronous and asynchronous.

    MIDDLEWARE = [..., "recalld.django.middleware"]
    RECALLD = {"CONTEXT": "shop.search.request_fields"}   # optional
"""

from __future__ import annotations

import hashlib
import inspect
from typing import Any, Callable, Dict, Mapping

from django.conf import settings
from django.utils.module_loading import import_string

from .context import Context, entered, trace_id_of


def middleware(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Adds shared fields to the queries of a request: a hash of the session key, and the trace id of the header
    `traceparent`.

    Settings in `RECALLD`: CONTEXT is a function (or the dotted path of one) that returns additional fields of
    `recalld.context` for a request. The middleware calls this function at the first query of the request.
    RESPONSE_HEADER is the name of a response header with the ids of the queries that were tracked before the response
    started.
    """
    options: Mapping[str, Any] = getattr(settings, "RECALLD", {})
    given, header = options.get("CONTEXT"), options.get("RESPONSE_HEADER")
    context_of = import_string(given) if isinstance(given, str) else given

    def fields(request: Any) -> Mapping[str, Any]:
        own: Dict[str, Any] = {"trace_id": trace_id_of(request.headers.get("traceparent"))}
        # Only a hash is sent, because anyone who reads the session key could take over the session.
        key = getattr(getattr(request, "session", None), "session_key", None)
        if key:
            own["session_id"] = hashlib.sha256(str(key).encode()).hexdigest()[:32]
        return own if context_of is None else {**own, **context_of(request)}

    def finish(response: Any, context: Context) -> Any:
        if header is not None and context.query_ids:
            response[header] = ",".join(context.query_ids)
        return response

    if inspect.iscoroutinefunction(get_response):

        async def asynchronous(request: Any) -> Any:
            with entered(lambda: fields(request)) as context:
                return finish(await get_response(request), context)

        return asynchronous

    def synchronous(request: Any) -> Any:
        with entered(lambda: fields(request)) as context:
            return finish(get_response(request), context)

    return synchronous


# Django requires these attributes of a middleware that handles both kinds of requests.
middleware.sync_capable = True  # type: ignore[attr-defined]
middleware.async_capable = True  # type: ignore[attr-defined]
