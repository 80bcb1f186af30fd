/** What the queue holds: an item as JSON, made in the host's call, and its vector, which is encoded when it is sent. */
import { Buffer } from 'node:buffer';
import { encodeEmbedding } from './embedding.ts';

/** The record itself, and the heads of its text and its vector. */
const OVERHEAD_BYTES = 256;

/** Per number, as float32 or as base64 of it. */
const EMBEDDING_BYTES = 6;

export interface ClientRecord {
  /** What it takes in memory and on the wire, whichever is more, a little rounded up. */
  readonly bytes: number;
  readonly json: string;
  readonly embedding: Float32Array | undefined;
}

/**
 * A text of its own is made at once: it costs microseconds, no later change by the host reaches it, its size is known,
 * and it keeps no larger text alive, as a slice of one would.
 *
 * @param fields under their names on the wire; undefined ones are left out
 */
export function createRecord(
  fields: Readonly<Record<string, unknown>>,
  embedding?: Float32Array,
): ClientRecord {
  const json = JSON.stringify(fields);
  // Engines store one byte per character, or two when any is beyond Latin-1.
  const textBytes = Buffer.byteLength(json) === json.length ? json.length : 2 * json.length;
  return { bytes: OVERHEAD_BYTES + textBytes + EMBEDDING_BYTES * (embedding?.length ?? 0), json, embedding };
}

/** The item with its vector as base64 of float32 values. */
export function recordToJson({ json, embedding }: ClientRecord): string {
  return embedding === undefined ? json : `${json.slice(0, -1)},"embedding":"${encodeEmbedding(embedding)}"}`;
}
