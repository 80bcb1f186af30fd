"""The decorator that reports the calls of a retriever: functions, coroutines, generators and asynchronous generators."""

from __future__ import annotations

import asyncio
import collections.abc
import functools
import inspect
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, TypeVar

from .context import Context, current
from .documents import documents_of
from .records import MOST_RESULTS

Function = TypeVar("Function", bound=Callable[..., Any])
Track = Callable[[Dict[str, Any], Optional[Context]], str]
_COUNT_NAMES = ("top_k", "k")


def reported(
    function: Function, track: Track, query: Optional[str], results: Optional[Callable[[Any], Any]]
) -> Function:
    try:
        signature: Optional[inspect.Signature] = inspect.signature(function)
    except (TypeError, ValueError):  # Functions written in C have no signature.
        signature = None

    def begin(args: Any, options: Mapping[str, Any]) -> _Call:
        try:
            fields = _arguments(signature, query, args, options)
        except Exception:  # A method of an argument, which is the host's code, raised an error.
            fields = {}
        return _Call(track, results, fields)

    wrapper: Any
    if inspect.iscoroutinefunction(function):

        async def wrapper(*args: Any, **options: Any) -> Any:
            return await begin(args, options).wait(function(*args, **options))

    elif inspect.isasyncgenfunction(function):

        def wrapper(*args: Any, **options: Any) -> Any:
            return begin(args, options).pass_asynchronously(function(*args, **options))

    elif inspect.isgeneratorfunction(function):

        def wrapper(*args: Any, **options: Any) -> Any:
            return begin(args, options).pass_on(function(*args, **options))

    else:

        def wrapper(*args: Any, **options: Any) -> Any:
            call = begin(args, options)
            with call:
                answer = function(*args, **options)
            # The function may also return an awaitable or an iterator, which only the caller may consume.
            if inspect.isawaitable(answer):
                return call.wait(answer)
            if isinstance(answer, collections.abc.AsyncIterator):
                return call.pass_asynchronously(answer)
            if isinstance(answer, collections.abc.Iterator):
                return call.pass_on(answer)
            call.report(answer)
            return answer

    functools.update_wrapper(wrapper, function)
    decorated: Function = wrapper
    return decorated


class _Call:
    """A call of a retriever, and a context manager that measures its latency. It is entered only while the retriever
    works, so the latency excludes the time that the consumer of a generator takes."""

    def __init__(
        self, track: Track, results: Optional[Callable[[Any], Any]], fields: Dict[str, Any]
    ) -> None:
        self._track, self._results, self._fields = track, results, fields
        # A generator may run in a different context from the one in which it was called.
        self._context = current()
        self._seconds = self._started_at = 0.0
        self._is_reported = False

    def __enter__(self) -> None:
        self._started_at = time.perf_counter()

    def __exit__(self, _: Any, error: Optional[BaseException], __: Any) -> None:
        self._seconds += time.perf_counter() - self._started_at
        # A cancelled retrieval counts as failed, because timeouts cancel calls.
        if isinstance(error, (Exception, asyncio.CancelledError)) and not isinstance(
            error, (StopIteration, StopAsyncIteration)
        ):
            self.report(None, error)

    def report(self, answer: Any, error: Optional[BaseException] = None) -> None:
        if self._is_reported:
            return
        self._is_reported = True
        fields: Dict[str, Any] = {**self._fields, "latency_ms": 1000 * self._seconds}
        if error is not None:
            fields["error"] = error
        else:
            fields["results"] = lambda: documents_of(answer if self._results is None else self._results(answer))
        self._track(fields, self._context)

    async def wait(self, answer: Any) -> Any:
        with self:
            found = await answer
        self.report(found)
        return found

    def pass_on(self, answer: Any) -> Any:
        seen: List[Any] = []
        try:
            while True:
                with self:
                    try:
                        one = next(answer)
                    except StopIteration as end:
                        return end.value
                if len(seen) <= MOST_RESULTS:
                    seen.append(one)
                yield one
        finally:
            try:
                close = getattr(answer, "close", None)
                if close is not None:
                    close()
            finally:
                self.report(seen)

    async def pass_asynchronously(self, answer: Any) -> Any:
        seen: List[Any] = []
        try:
            while True:
                with self:
                    try:
                        one = await answer.__anext__()
                    except StopAsyncIteration:
                        return
                if len(seen) <= MOST_RESULTS:
                    seen.append(one)
                yield one
        finally:
            try:
                close = getattr(answer, "aclose", None)
                if close is not None:
                    await close()
            finally:
                self.report(seen)


def _arguments(
    signature: Optional[inspect.Signature], query: Optional[str], args: Any, options: Mapping[str, Any]
) -> Dict[str, Any]:
    """Returns the text of the query (the argument named `query`, or the first str if no name is given) and the number of
    requested documents (the argument named `top_k` or `k`)."""
    given: Dict[str, Any] = {str(place): value for place, value in enumerate(args)}
    given.update(options)
    if signature is not None:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        given = {}
        for name, value in bound.arguments.items():
            is_rest = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
            given.update(value if is_rest else {name: value})
    texts = [given.get(query)] if query is not None else list(given.values())
    text = next((value for value in texts if isinstance(value, str)), None)
    count = next((given[name] for name in _COUNT_NAMES if type(given.get(name)) is int and given[name] > 0), None)
    return {"text": text, "top_k": count}
