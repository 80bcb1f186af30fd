"""Writes a table with LanceDB for Python: write.py FOLDER TABLE METRIC DIMENSIONS create|add|remove|index|drop, rows or ids as JSON on stdin."""

import json
import sys

import lancedb
import pyarrow as pa

folder, name, metric, dimensions, action = sys.argv[1:]
database = lancedb.connect(folder)
schema = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), int(dimensions))),
        pa.field("text", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("language", pa.string()),
    ]
)

if action == "create":
    database.create_table(name, schema=schema)
elif action == "add":
    database.open_table(name).add(pa.Table.from_pylist(json.load(sys.stdin), schema=schema))
elif action == "remove":
    ids = ", ".join("'" + id.replace("'", "''") + "'" for id in json.load(sys.stdin))
    database.open_table(name).delete(f"id in ({ids})")
elif action == "index":
    database.open_table(name).create_index(metric=metric, index_type="IVF_FLAT", num_partitions=2, vector_column_name="vector")
elif action == "drop":
    database.drop_table(name)
