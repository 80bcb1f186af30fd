/** Records -> the body of one request, made in slices so that the host's event loop is never held for long. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type ClientRecord, recordToJson } from './record.ts';
import { nextTurn } from './timers.ts';

/** Longest work without giving the host its turn. */
const SLICE_MS = 1;

/** Smaller bodies fit into one packet either way. */
const GZIP_FROM_BYTES = 1024;

const gzipInThreadPool = promisify(gzip);

/** A JSON array of the records. */
export async function encodeBatch(records: readonly ClientRecord[]): Promise<Uint8Array> {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  let sliceEnd = performance.now() + SLICE_MS;
  for (const record of records) {
    if (performance.now() >= sliceEnd) {
      await nextTurn();
      sliceEnd = performance.now() + SLICE_MS;
    }
    parts.push(encoder.encode(`${parts.length === 0 ? '[' : ','}${recordToJson(record)}`));
  }
  parts.push(encoder.encode(']'));
  return joined(parts);
}

/** The body in gzip, made outside the event loop; null when it is too small to gain by it. */
export async function compressBody(body: Uint8Array): Promise<Uint8Array | null> {
  return body.length < GZIP_FROM_BYTES ? null : gzipInThreadPool(body);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
