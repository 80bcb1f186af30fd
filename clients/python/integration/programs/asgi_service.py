"""A FastAPI service with retrievers of every kind."""

import os

from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from recalld import Client
from recalld.asgi import RecalldMiddleware

client = Client(os.environ["RECALLD_URL"], pipeline=os.environ["RECALLD_PIPELINE"], flush_interval=3600)
app = FastAPI()


def context(scope):
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    return {"session_id": headers["x-session"], "segments": {"tenant": headers.get("x-tenant")}}


app.add_middleware(RecalldMiddleware, context=context, response_header="X-Recalld-Query-Id")

FOUND = [{"id": "kb-1", "score": 0.75, "text": "Pay by card."}, {"id": "kb-2", "score": 0.5, "text": "Pay by bill."}]


@client.retriever
def search(query: str, k: int = 2):
    if query == "fail":
        raise TimeoutError("the store timed out")
    return FOUND[:k]


@client.retriever
async def search_async(query: str, k: int = 2):
    return FOUND[:k]


@client.retriever
async def search_stream(query: str):
    for one in FOUND:
        yield one


@app.get("/sync/{query}")
def sync(query: str):
    try:
        search(query)
    except TimeoutError as error:
        raise HTTPException(504) from error
    return os.getpid()


@app.get("/async/{query}")
async def asynchronous(query: str):
    await search_async(query)
    return os.getpid()


@app.get("/stream/{query}")
async def stream(query: str):
    async def lines():
        async for one in search_stream(query):
            yield one["text"] + "\n"

    return StreamingResponse(lines(), media_type="text/plain")
