"""Middleware for FastAPI, Starlette and every other ASGI application.

    app.add_middleware(RecalldMiddleware, context=lambda scope: {"session_id": scope["session"]["id"]})
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Awaitable, Callable, Mapping, MutableMapping, Optional

from .context import Context, entered, trace_id_of
from .exit import flush_all

_Message = MutableMapping[str, Any]
_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]

_SHUTDOWN_SECONDS = 2.0


class RecalldMiddleware:
    """Adds shared fields to the queries of a request. Also sends the buffered items when the server shuts down, because
    uvicorn ends its process with a signal, and exit handlers then do not run.

    context: a function that returns fields of `recalld.context`, such as the session, for an ASGI scope. The middleware
    calls it at the first query of a request. The trace id comes from the header `traceparent`.
    response_header: name of a response header with the ids of the queries that were tracked before the response
    started, for feedback from the browser; default: none.
    """

    def __init__(
        self,
        app: Any,
        *,
        context: Optional[Callable[[_Scope], Mapping[str, Any]]] = None,
        response_header: Optional[str] = None,
    ) -> None:
        self._app: _App = app
        self._context = context
        self._response_header = response_header

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif scope["type"] in ("http", "websocket"):
            with entered(lambda: self._fields(scope)) as context:
                await self._app(scope, receive, self._with_header(context, send))
        else:
            await self._app(scope, receive, send)

    def _fields(self, scope: _Scope) -> Mapping[str, Any]:
        headers = scope.get("headers") or ()
        traceparent = next((value for name, value in headers if name.lower() == b"traceparent"), b"")
        own = {} if self._context is None else self._context(scope)
        return {"trace_id": trace_id_of(traceparent.decode("latin-1")), **own}

    def _with_header(self, context: Context, send: _Send) -> _Send:
        name = self._response_header
        if name is None:
            return send

        async def send_with_header(message: _Message) -> None:
            if message["type"] == "http.response.start" and context.query_ids:
                value = ",".join(context.query_ids).encode("latin-1", "replace")
                message["headers"] = [*message.get("headers", ()), (name.lower().encode("latin-1"), value)]
            await send(message)

        return send_with_header

    async def _live(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Runs the application's lifespan, or responds in place of an application that has none, such as a Django
        application."""
        has_started = is_over = False

        async def send_after_flush(message: _Message) -> None:
            nonlocal has_started, is_over
            has_started = True
            if message["type"].startswith("lifespan.shutdown"):
                is_over = True
                await self._flush()
            elif message["type"] == "lifespan.startup.failed":
                is_over = True
            await send(message)

        received = []

        async def receive_and_note() -> _Message:
            message = await receive()
            received.append(message["type"])
            return message

        try:
            await self._app(scope, receive_and_note, send_after_flush)
        except Exception:
            if has_started:
                raise
            logging.getLogger("recalld").debug("The application has no lifespan.", exc_info=True)
        if has_started or is_over:
            return
        if "lifespan.startup" not in received:
            await receive()
        await send({"type": "lifespan.startup.complete"})
        if "lifespan.shutdown" not in received:
            await receive()
        await self._flush()
        await send({"type": "lifespan.shutdown.complete"})

    async def _flush(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, flush_all, _SHUTDOWN_SECONDS)
