/**
 * The recorded vectors of two encoders, keyed by text. Each record is the first 8 bytes of the text's SHA-256, then one
 * signed byte per dimension.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { dataFolder } from './corpora.ts';

/** Number of dimensions of each encoder. */
export const encoders = { 'use-lite': 192, minilm: 384 } as const;

export type EncoderName = keyof typeof encoders;

const KEY_BYTES = 8;

export class UnrecordedTextError extends Error {}

function keyOf(text: string): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, KEY_BYTES);
}

export function packVectors(texts: readonly string[], vectors: readonly ArrayLike<number>[]): Buffer {
  return Buffer.concat(
    texts.map((text, row) => {
      const vector = Array.from(vectors[row] ?? []);
      const greatest = Math.max(...vector.map(Math.abs));
      const bytes = Int8Array.from(vector, (value) => Math.round((127 * value) / greatest));
      return Buffer.concat([keyOf(text), Buffer.from(bytes.buffer)]);
    }),
  );
}

/** Maps a text to its unit vector. */
export type VectorOf = (text: string) => Float32Array;

const files = { 'use-lite': ['use-lite'], minilm: ['minilm-en', 'minilm-de', 'minilm-es', 'minilm-papers'] } as const;

const opened = new Map<EncoderName, VectorOf>();

/**
 * Returns a function from texts to the vectors of an encoder; it throws UnrecordedTextError for a text without a
 * recorded vector.
 */
export function readVectors(encoder: EncoderName): VectorOf {
  const known = opened.get(encoder);
  if (known !== undefined) return known;
  const dimensions = encoders[encoder];
  const rows = new Map<string, Int8Array>();
  for (const file of files[encoder]) {
    const bytes = readFileSync(path.join(dataFolder, `${file}.bin`));
    for (let at = 0; at < bytes.length; at += KEY_BYTES + dimensions) {
      const key = bytes.toString('latin1', at, at + KEY_BYTES);
      rows.set(key, new Int8Array(bytes.buffer, bytes.byteOffset + at + KEY_BYTES, dimensions));
    }
  }
  const cache = new Map<string, Float32Array>();
  const vectorOf: VectorOf = (text) => {
    const cached = cache.get(text);
    if (cached !== undefined) return cached;
    const row = rows.get(keyOf(text).toString('latin1'));
    if (row === undefined)
      throw new UnrecordedTextError(`${encoder} has no vector of the text "${text.slice(0, 60)}".`);
    const vector = unit(row);
    cache.set(text, vector);
    return vector;
  };
  opened.set(encoder, vectorOf);
  return vectorOf;
}

export function unit(values: ArrayLike<number>): Float32Array {
  let square = 0;
  for (let at = 0; at < values.length; at++) square += (values[at] ?? 0) ** 2;
  const length = Math.sqrt(square) || 1;
  return Float32Array.from(values, (value) => value / length);
}

/**
 * Returns a unit vector between two vectors: it has the direction of `first` if the weight is 0, and the direction of
 * `second` if the weight is 1.
 */
export function blend(first: Float32Array, second: Float32Array, weight: number): Float32Array {
  return unit(first.map((value, at) => (1 - weight) * value + weight * (second[at] ?? 0)));
}
