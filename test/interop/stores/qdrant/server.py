"""Serves the part of Qdrant's REST interface that recalld and its tests use, over Qdrant's engine in this process.

PyPI has the engine of Qdrant as qdrant-edge-py, but no server. The engine stores vectors and payloads, filters, indexes,
searches and samples. This program serves the routes and formats the answers.

    python server.py FOLDER PORT
"""

import json
import re
import shutil
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote, urlsplit

import qdrant_edge as edge

folder = Path(sys.argv[1])
lock = threading.Lock()
collections = {}


class Failure(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def hnsw(settings):
    given = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000, **(settings or {})}
    return edge.HnswIndexConfig(**given)


def quantization(settings):
    if settings is None:
        return None
    if "scalar" in settings:
        return edge.ScalarQuantizationConfig(type=edge.ScalarType.Int8)
    return edge.BinaryQuantizationConfig()


def vectors_of(params):
    def one(vector):
        return edge.EdgeVectorParams(size=vector["size"], distance=getattr(edge.Distance, vector["distance"]))

    return one(params) if "size" in params else {name: one(vector) for name, vector in params.items()}


def engine_config(config):
    params = config["params"]
    sparse = params.get("sparse_vectors")
    return edge.EdgeConfig(
        vectors=vectors_of(params["vectors"]),
        sparse_vectors=None if sparse is None else {name: edge.EdgeSparseVectorParams() for name in sparse},
        hnsw_config=hnsw(config["hnsw_config"]),
        quantization_config=quantization(config["quantization_config"]),
        optimizers=edge.EdgeOptimizersConfig(**config["optimizer_config"]),
    )


def condition_of(condition):
    if "key" not in condition:
        return filter_of(condition)
    value_range = condition.get("range")
    match = condition.get("match", {})
    return edge.FieldCondition(
        key=condition["key"],
        match=edge.MatchAny(match["any"]) if "any" in match else edge.MatchValue(match["value"]) if match else None,
        range=None if value_range is None else edge.RangeFloat(**value_range),
    )


def filter_of(body):
    if body is None:
        return None
    return edge.Filter(**{clause: [condition_of(one) for one in body[clause]] for clause in body})


def vector_of(vector):
    """Converts a vector of a request for the engine."""
    if isinstance(vector, list):
        return [float(number) for number in vector]
    if "indices" in vector:
        return edge.SparseVector(**vector)
    return {name: vector_of(one) for name, one in vector.items()}


def shown(vector):
    """Converts a vector of the engine for a response, with the digits of a 32-bit number."""
    if isinstance(vector, dict):
        return {name: shown(one) for name, one in vector.items()}
    if isinstance(vector, edge.SparseVector):
        return {"indices": vector.indices, "values": shown(vector.values)}
    return [float(f"{number:.9g}") for number in vector]


def id_of(point_id):
    return point_id if isinstance(point_id, int) else str(point_id)


def record(point):
    return {
        "id": id_of(point.id),
        **({} if point.payload is None else {"payload": point.payload}),
        **({} if point.vector is None else {"vector": shown(point.vector)}),
    }


def create(name, body):
    config = {
        "params": {key: body[key] for key in ("vectors", "sparse_vectors") if key in body},
        "hnsw_config": body.get("hnsw_config"),
        "quantization_config": body.get("quantization_config"),
        "optimizer_config": body.get("optimizers_config", {}),
    }
    path = folder / name
    path.mkdir()
    collections[name] = (edge.EdgeShard.create(str(path), engine_config(config)), config)
    return True


def change(name, shard, config, body):
    changed = {**config, "hnsw_config": {**(config["hnsw_config"] or {}), **body["hnsw_config"]}}
    shard.close()
    shard = edge.EdgeShard.load(str(folder / name), engine_config(changed))
    shard.optimize()
    collections[name] = (shard, changed)
    return True


def describe(shard, config):
    info = shard.info()
    schema = {
        key: {"data_type": str(index.data_type).split(".")[-1].lower(), "points": index.points}
        for key, index in info.payload_schema.items()
    }
    return {
        "status": "green",
        "points_count": info.points_count,
        "indexed_vectors_count": info.indexed_vectors_count,
        "segments_count": info.segments_count,
        "config": config,
        "payload_schema": schema,
    }


def remove(name, shard):
    shard.close()
    shutil.rmtree(folder / name)
    del collections[name]
    return True


def update(shard, operation):
    shard.update(operation)
    # A Qdrant server optimizes without a request.
    shard.optimize()
    return {"status": "completed"}


def query(shard, body):
    asked = body["query"]
    request = edge.QueryRequest(
        query=edge.Sample.Random
        if isinstance(asked, dict) and asked.get("sample") == "random"
        else edge.Query.Nearest(vector_of(asked), using=body.get("using")),
        filter=filter_of(body.get("filter")),
        params=edge.SearchParams(**body.get("params", {})),
        limit=body["limit"],
        with_payload=body.get("with_payload", False),
        with_vector=body.get("with_vector", False),
    )
    points = shard.query(request)
    return {"points": [{**record(point), "version": point.version, "score": point.score} for point in points]}


def scroll(shard, body):
    request = edge.ScrollRequest(
        offset=body.get("offset"),
        limit=body.get("limit", 10),
        filter=filter_of(body.get("filter")),
        with_payload=body.get("with_payload", True),
        with_vector=body.get("with_vector", False),
    )
    points, following = shard.scroll(request)
    return {
        "points": [record(point) for point in points],
        "next_page_offset": None if following is None else id_of(following),
    }


def retrieve(shard, body):
    points = shard.retrieve(body["ids"], body.get("with_payload", True), body.get("with_vector", False))
    return [record(point) for point in points]


def upsert(shard, body):
    points = [
        edge.Point(point["id"], vector_of(point["vector"]), point.get("payload", {})) for point in body["points"]
    ]
    return update(shard, edge.UpdateOperation.upsert_points(points))


def delete(shard, body):
    if "points" in body:
        return update(shard, edge.UpdateOperation.delete_points(body["points"]))
    return update(shard, edge.UpdateOperation.delete_points_by_filter(filter_of(body["filter"])))


def index(shard, body):
    schema = getattr(edge.PayloadSchemaType, body["field_schema"].capitalize())
    return update(shard, edge.UpdateOperation.create_field_index(body["field_name"], schema))


routes = {
    ("POST", "/points/query"): query,
    ("POST", "/points/scroll"): scroll,
    ("POST", "/points"): retrieve,
    ("PUT", "/points"): upsert,
    ("POST", "/points/delete"): delete,
    ("PUT", "/index"): index,
}


def answer(method, path, body):
    if path == "/":
        return {"title": "Qdrant Edge", "version": version("qdrant-edge-py")}
    if path == "/aliases":
        return {"result": {"aliases": []}, "status": "ok", "time": 0}
    name, action = re.fullmatch(r"/collections/([^/]+)(.*)", path).groups()
    if (method, action) == ("PUT", ""):
        result = create(name, body)
    elif name not in collections:
        raise Failure(404, f"Not found: Collection `{name}` doesn't exist!")
    else:
        shard, config = collections[name]
        if action != "":
            result = routes[method, action](shard, body)
        elif method == "GET":
            result = describe(shard, config)
        elif method == "PATCH":
            result = change(name, shard, config, body)
        else:
            result = remove(name, shard)
    return {"result": result, "status": "ok", "time": 0}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_call(self):
        text = self.rfile.read(int(self.headers.get("content-length", 0)))
        status = 200
        try:
            with lock:
                given = answer(self.command, unquote(urlsplit(self.path).path), json.loads(text) if text else None)
        except Exception as error:  # The engine raises plain exceptions for wrong input.
            status = getattr(error, "status", 400)
            given = {"status": {"error": str(error)}, "time": 0}
        body = json.dumps(given).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_call

    def log_message(self, format, *args):
        pass


signal.signal(signal.SIGINT, lambda *_: sys.exit())
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
