/** How much a record takes, so that the queue can be bounded in bytes. */

const OBJECT_BYTES = 64;
const STRING_BYTES = 24;

/**
 * Estimate of the bytes that a plain value without cycles takes in memory, a little above what it takes on the wire.
 * Texts count two bytes per UTF-16 unit, the most that an engine stores.
 */
export function estimateBytes(value: unknown): number {
  if (typeof value === 'string') return STRING_BYTES + 2 * value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = OBJECT_BYTES;
  if (Array.isArray(value)) {
    for (const element of value) bytes += estimateBytes(element);
  } else {
    for (const [key, field] of Object.entries(value)) bytes += key.length + estimateBytes(field);
  }
  return bytes;
}
