/** Reading of RESP2 replies. */
import type { Reply } from './connection.ts';

export function repliesOf(reply: Reply | undefined): readonly Reply[] {
  return Array.isArray(reply) ? (reply as readonly Reply[]) : [];
}

export function replyText(reply: Reply | undefined): string | null {
  if (Buffer.isBuffer(reply)) return reply.toString('utf8');
  return typeof reply === 'number' ? String(reply) : null;
}

export function replyNumber(reply: Reply | undefined): number | null {
  const text = replyText(reply);
  if (text === null || text.trim() === '' || Number.isNaN(Number(text))) return null;
  return Number(text);
}

/** The value behind a name in a list of names and values, where lone flags may stand among them. */
export function valueAfter(list: readonly Reply[], name: string): Reply | undefined {
  const place = list.findIndex((reply) => replyText(reply) === name);
  return place < 0 ? undefined : list[place + 1];
}

/** Little-endian, as every command of Redis takes and gives vectors in bytes. */
export function float32Bytes(vector: Float32Array): Buffer {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes;
}

export function float32Of(bytes: Buffer): Float32Array {
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}
