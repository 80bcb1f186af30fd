import { malformed, parseJson, type SourceLine } from '../../../core/text/source-line.ts';

export type ManifestDocument = ReturnType<typeof readManifestLine>;

const MAX_CHARACTERS = 1024;

/**
 * Reads `{"id", "updated_at"?, "hash"?, "deleted"?, "chunks"?, "segment"?}` and ignores other keys. `updated_at` is ISO
 * 8601 or seconds since 1970. A segment without `=` gets the key `segment`.
 *
 * @throws RecalldError file_malformed, with line and fix
 */
export function readManifestLine(line: SourceLine) {
  const fields = parseJson(line);
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    throw malformed(line, 'is not a JSON object; write {"id": "..."} for each document');
  }
  const { id, updated_at, hash, deleted, chunks, segment } = fields as Readonly<Record<string, unknown>>;
  const known = textIn(line, 'id', id);
  if (known === null) throw malformed(line, 'has no "id"; every document needs the id that it has in the store');
  if (deleted !== undefined && deleted !== null && typeof deleted !== 'boolean') {
    throw malformed(line, 'has an invalid "deleted"; write true or false');
  }
  if (
    chunks !== undefined &&
    chunks !== null &&
    !(typeof chunks === 'number' && Number.isSafeInteger(chunks) && chunks >= 0 && chunks < 2 ** 31)
  ) {
    throw malformed(line, 'has an invalid "chunks"; write a whole number from 0 to 2147483647');
  }
  const named = textIn(line, 'segment', segment);
  return {
    id: known,
    updatedAt: timeIn(line, updated_at),
    /** Content hash, or another version identifier. */
    hash: textIn(line, 'hash', hash),
    isDeleted: deleted === true,
    chunks: typeof chunks === 'number' ? chunks : null,
    /** Segment under which the document is counted, as `key=value`. */
    segment: named === null || named.includes('=') ? named : `segment=${named}`,
  };
}

function textIn(line: SourceLine, key: string, value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'string' && typeof value !== 'number')
    throw malformed(line, `has an invalid "${key}"; write a string`);
  const text = String(value);
  if (text.length > MAX_CHARACTERS)
    throw malformed(line, `has an invalid "${key}"; write at most ${MAX_CHARACTERS} characters`);
  if (text.includes('\0')) throw malformed(line, `has an invalid "${key}"; remove the NUL character`);
  return text;
}

function timeIn(line: SourceLine, value: unknown): Date | null {
  if (value === undefined || value === null) return null;
  const time = new Date(typeof value === 'number' ? value * 1000 : typeof value === 'string' ? value : Number.NaN);
  if (Number.isNaN(time.getTime())) {
    throw malformed(line, 'has an invalid "updated_at"; write 2026-01-31T12:00:00Z or seconds since 1970');
  }
  return time;
}
