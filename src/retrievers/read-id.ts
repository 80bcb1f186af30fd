/**
 * An id as a service gives it: a text that is not empty, taken as it stands, or an integer, written in
 * digits. Null for anything else: a number with a fraction is a score, and text with a NUL character cannot be stored.
 */
export function readId(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  return typeof value === 'string' && value !== '' && !value.includes('\0') ? value : null;
}
