/** A value of a trait that stays the same while documents come and go. */
import { createHash } from 'node:crypto';

/** A short hash of settings, whatever the order of their keys. */
export function settingsHash(settings: unknown): string {
  return createHash('sha256').update(canonicalText(settings)).digest('hex').slice(0, 12);
}

function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalText(inner)}`).join(',')}}`;
}
