import { z } from 'zod';
import { refuse } from '../platform/http/fields.ts';

const MAX_DIMENSIONS = 16_384;

/**
 * A list of numbers, or base64 of little-endian float32 values; parsed into a Float32Array. Hand-written, because
 * validating each number with zod would take longer than all other validation combined.
 */
export const embeddingSchema = z
  .custom<readonly number[] | string>((value) => Array.isArray(value) || typeof value === 'string', {
    error: 'must be a list of numbers or a base64 string',
  })
  .transform((value, context): Float32Array => {
    const vector = vectorOfWire(value);
    if (vector !== null) return vector;
    refuse(
      context,
      'embedding_malformed',
      `must be 1 to ${MAX_DIMENSIONS} numbers, or base64-encoded little-endian float32 values`,
    );
    return z.NEVER;
  })
  .meta({
    wire: {
      oneOf: [
        { type: 'array', items: { type: 'number' } },
        { type: 'string', contentEncoding: 'base64' },
      ],
    },
  });

/** Reads a vector from numbers or base64; null if it is invalid. */
export function vectorOfWire(value: readonly unknown[] | string): Float32Array | null {
  return typeof value === 'string' ? fromBase64(value) : fromNumbers(value);
}

function fromNumbers(values: readonly unknown[]): Float32Array | null {
  if (values.length === 0 || values.length > MAX_DIMENSIONS) return null;
  const vector = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (typeof value !== 'number') return null;
    vector[i] = value;
  }
  return vector;
}

function fromBase64(value: string): Float32Array | null {
  const bytes = Buffer.byteLength(value, 'base64');
  if (bytes === 0 || bytes % 4 !== 0 || bytes / 4 > MAX_DIMENSIONS) return null;
  // Node.js also decodes base64url, which the schema does not allow.
  if (value.includes('-') || value.includes('_')) return null;
  // All supported platforms are little-endian.
  const vector = new Float32Array(bytes / 4);
  // Node.js skips invalid characters, and then writes fewer bytes than the length implies.
  return Buffer.from(vector.buffer).write(value, 'base64') === bytes ? vector : null;
}
