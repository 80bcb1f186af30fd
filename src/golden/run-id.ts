import { randomBytes } from 'node:crypto';

/** Sorts by time and is short enough to type: `20261120T154500Z-3f9a1c2b`. */
export function newRunId(now: Date): string {
  return `${now
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '')}-${randomBytes(4).toString('hex')}`;
}
