/** A line of a manifest: a document that should be in the store, or should no longer be. */
import { malformed, parseJson, type SourceLine } from '../../../core/text/source-line.ts';

export interface ManifestDocument {
  readonly id: string;
  readonly updatedAt: Date | null;
  /** Of its content, or any name of its version. */
  readonly hash: string | null;
  readonly isDeleted: boolean;
  /** How many chunks it has. */
  readonly chunks: number | null;
  /** `key=value`, by which documents are counted apart. */
  readonly segment: string | null;
}

const MAX_CHARACTERS = 1024;

/**
 * Reads `{"id", "updated_at"?, "hash"?, "deleted"?, "chunks"?, "segment"?}`; other keys are left out, also texts. An `updated_at`
 * is a time as ISO 8601 has it, or seconds since 1970. A segment without `=` is one of the key `segment`.
 *
 * @throws RecalldError file_malformed, with line and way out
 */
export function readManifestLine(line: SourceLine): ManifestDocument {
  const fields = parseJson(line);
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    throw malformed(line, 'is no JSON object; write {"id": "..."} for each document');
  }
  const { id, updated_at, hash, deleted, chunks, segment } = fields as Readonly<Record<string, unknown>>;
  const known = textIn(line, 'id', id);
  if (known === null) throw malformed(line, 'has no "id"; every document needs that of the store');
  if (deleted !== undefined && deleted !== null && typeof deleted !== 'boolean') {
    throw malformed(line, 'has a "deleted" that is neither true nor false');
  }
  if (
    chunks !== undefined &&
    chunks !== null &&
    !(typeof chunks === 'number' && Number.isSafeInteger(chunks) && chunks >= 0 && chunks < 2 ** 31)
  ) {
    throw malformed(line, 'has "chunks" that are no whole number');
  }
  const named = textIn(line, 'segment', segment);
  return {
    id: known,
    updatedAt: timeIn(line, updated_at),
    hash: textIn(line, 'hash', hash),
    isDeleted: deleted === true,
    chunks: typeof chunks === 'number' ? chunks : null,
    segment: named === null || named.includes('=') ? named : `segment=${named}`,
  };
}

/** Numbers count as their digits. */
function textIn(line: SourceLine, key: string, value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'string' && typeof value !== 'number') throw malformed(line, `has a "${key}" that is no text`);
  const text = String(value);
  if (text.length > MAX_CHARACTERS) throw malformed(line, `has a "${key}" of more than ${MAX_CHARACTERS} characters`);
  if (text.includes('\0')) throw malformed(line, `has a "${key}" with the character NUL`);
  return text;
}

function timeIn(line: SourceLine, value: unknown): Date | null {
  if (value === undefined || value === null) return null;
  const time = new Date(typeof value === 'number' ? value * 1000 : typeof value === 'string' ? value : Number.NaN);
  if (Number.isNaN(time.getTime())) {
    throw malformed(line, 'has an "updated_at" that is no time; write 2026-01-31T12:00:00Z, or seconds since 1970');
  }
  return time;
}
