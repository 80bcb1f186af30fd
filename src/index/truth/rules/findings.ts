/** Problems with documents in an index: how they are detected, and how alerts and diagnoses describe them. */

import { count, duration, percentage } from '../../../core/format.ts';
import { cosineSimilarity } from '../../../math/vector/matrix.ts';

/** Kinds of findings: a fixed list, because the kind is a metric label. */
export const findingKinds = ['missing', 'unretrievable', 'orphaned', 'superseded', 'other_model'] as const;

export type FindingKind = (typeof findingKinds)[number];

/** Kinds whose documents are listed: the findings, and documents with overdue changes. */
export const namedKinds = [...findingKinds, 'late'] as const;

export type NamedKind = (typeof namedKinds)[number];

/** Descriptions of the findings, worded to follow `5 % of the` in the headlines of alerts. */
export const findingNames: Readonly<Record<FindingKind, string>> = {
  missing: 'documents in the manifest are missing from the store',
  unretrievable: 'documents in the store are not found by search',
  orphaned: 'documents in the store are not in the manifest',
  superseded: 'documents in the store have outdated chunks',
  other_model: 'vectors in the store come from another model',
};

export interface WrongShare {
  readonly kind: FindingKind;
  readonly value: number;
  readonly ciLow: number;
  readonly n: number;
  /** Number of documents for which this finding is stored. */
  readonly known: number;
  /**
   * Estimated number of the `known` documents that are missing only because they are new and were never in the store.
   */
  readonly neverArrived: number;
}

/** An alert fires if the lower bound of the 95 % CI for the share of affected documents exceeds this value. */
export const MIN_WRONG_SHARE = 0.005;

export function isWrong({ ciLow }: Pick<WrongShare, 'ciLow'>): boolean {
  return ciLow > MIN_WRONG_SHARE;
}

/** True if at least half of the missing documents were never in the store, because they have not been indexed yet. */
export function isMostlyNew({ known, neverArrived }: Pick<WrongShare, 'known' | 'neverArrived'>): boolean {
  return known > 0 && neverArrived >= known / 2;
}

const whatIs: Readonly<Record<FindingKind, string>> = {
  missing: 'in the manifest are missing from the store',
  unretrievable: 'in the store are not found by a search for their own text',
  orphaned: 'in the store are orphaned',
  superseded: 'have chunks from several versions',
  other_model: 'have vectors from another model',
};

/** `412 documents in the manifest are missing from the store (2.1 % of 20 000 checked; ...).` */
export function describeFinding({ kind, value, ciLow, n, known }: WrongShare): string {
  const documents = `${known} ${known === 1 ? 'document' : 'documents'}`;
  return `${documents} ${whatIs[kind]} (${percentage(value)} of ${count(n)} checked; lower bound of the 95 % CI ${percentage(ciLow)}).`;
}

/** `3 of the 4 documents that are missing from the store are new and have never been found in it.` */
export function describeNew({ known, neverArrived }: Pick<WrongShare, 'known' | 'neverArrived'>): string {
  return `${Math.min(known, Math.round(neverArrived))} of the ${known} documents that are missing from the store are new and have never been found in it.`;
}

/** How long the changes of the last day took to reach the store. */
export interface ArrivalLag {
  /** 95th percentile of the time until a change reaches the store. */
  readonly seconds: number;
  /** Lower bound of the 95 % CI of `seconds`. */
  readonly atLeast: number;
  /** Configured `late_after`, in seconds. */
  readonly allowed: number;
  /** Number of tracked changes. */
  readonly n: number;
  /** Number of changes that have not arrived yet, including overdue changes. */
  readonly waiting: number;
  /** Number of changes that have not arrived within `allowed`. */
  readonly overdue: number;
}

/** The alert resolves once every overdue change has arrived, even if other changes in the last day were late. */
export function isLate({ atLeast, allowed, overdue }: ArrivalLag): boolean {
  return atLeast > allowed && overdue > 0;
}

/** `5 % of changes take at least 5 h 20 min to reach the store (n = 40, 3 still waiting); the limit is 1 h.` */
export function describeLag({ atLeast, allowed, n, waiting }: ArrivalLag): string {
  const missing = waiting === 0 ? '' : `, ${waiting} still waiting`;
  return `5 % of changes take at least ${duration(atLeast)} to reach the store (n = ${n}${missing}); the limit is ${duration(allowed)}.`;
}

interface Chunk {
  readonly version: string | null;
  readonly content: string | null;
}

const SHINGLE_WORDS = 5;
/** Minimum number of words of a compared text; shorter texts, such as headings, may occur twice in a document. */
const MIN_WORDS = 20;
/**
 * Chunks that resemble each other at least this much are versions of one chunk; overlapping neighbors share only about
 * a third of their shingles.
 */
const MIN_RESEMBLANCE = 0.7;

/**
 * Returns true if a document has chunks of several versions: if it has more chunks than the manifest states, or if the
 * store returns more than one version. If the store returns no versions, compares the texts, because two chunks of the
 * same version are never nearly identical.
 *
 * @param expected number of chunks of the document
 * @returns null if the number, the versions and the texts of the chunks are all unknown
 */
export function isSuperseded(chunks: readonly Chunk[], expected: number | null): boolean | null {
  if (expected !== null && chunks.length > expected) return true;
  const versions = new Set(chunks.flatMap(({ version }) => version ?? []));
  if (versions.size > 0) return versions.size > 1;
  const texts = chunks.flatMap(({ content }) => content ?? []);
  if (texts.length === 0) return expected === null && chunks.length > 1 ? null : false;
  const shingles = texts.map(shinglesOf).filter(({ size }) => size > MIN_WORDS - SHINGLE_WORDS);
  return shingles.some((one, place) =>
    shingles.slice(place + 1).some((other) => resemblance(one, other) >= MIN_RESEMBLANCE),
  );
}

function shinglesOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(
    words
      .slice(0, Math.max(0, words.length - SHINGLE_WORDS + 1))
      .map((_, at) => words.slice(at, at + SHINGLE_WORDS).join(' ')),
  );
}

/** Jaccard similarity of the shingles (Broder 1997). */
function resemblance(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const shingle of one) if (other.has(shingle)) shared += 1;
  return shared / (one.size + other.size - shared);
}

/** Returns true if a chunk has the version in the manifest: the same hash, or the same time to the second. */
export function hasVersion(chunks: readonly Chunk[], version: string): boolean {
  const time = Date.parse(version);
  return chunks.some(({ version: stored }) => {
    if (stored === null) return false;
    if (stored === version) return true;
    // A version that consists only of digits is not a year.
    return !/^\d+$/.test(stored) && Math.abs(Date.parse(stored) - time) < 1000;
  });
}

/**
 * Maximum cosine distance between a stored vector and a new embedding, as a multiple of the distance between two new
 * embeddings of the text.
 */
const TIMES_NOISE = 4;

/**
 * Compares the stored vector of a chunk with two new embeddings of its text.
 *
 * @param minCosine minimum cosine between the stored vector and a new embedding; storing vectors in 8 bits hardly
 *   changes this cosine
 */
export function isOfOtherModel(
  { stored, again, repeated }: Readonly<Record<'stored' | 'again' | 'repeated', Float32Array>>,
  minCosine: number,
): boolean {
  if (stored.length !== again.length) return true;
  const noise = 1 - cosineSimilarity(again, repeated);
  return 1 - cosineSimilarity(stored, again) > Math.max(1 - minCosine, TIMES_NOISE * noise);
}

const QUESTION_CHARACTERS = 300;

/** Returns the beginning of the first non-empty text, for use as a query; null if there is none. */
export function queryTextOf(contents: readonly (string | null)[]): string | null {
  const text = contents.find((content) => content !== null && content.trim() !== '');
  return text?.trim().slice(0, QUESTION_CHARACTERS).trim() ?? null;
}

/**
 * Returns the common prefix of all ids in a segment, truncated after its last character that is neither a letter nor a
 * digit. The prefix therefore also matches future ids: it is `tenant-b/` for the ids `tenant-b/10` to `tenant-b/17`.
 * Returns null if there is no such prefix.
 *
 * @param first smallest id, by bytes
 * @param last largest id, by bytes; a common prefix of the smallest and the largest id is a prefix of all ids
 */
export function sharedPrefix(first: string, last: string): string | null {
  let length = 0;
  while (length < first.length && first[length] === last[length]) length += 1;
  return /^.*[^\p{L}\p{N}\p{M}\p{Cs}*\s]/su.exec(first.slice(0, length))?.[0] ?? null;
}

/** Converts a segment `key=value` of the manifest to query tags. */
export function segmentTags(segment: string | null): Readonly<Record<string, string>> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(segment ?? '') ?? [];
  return key === undefined || value === undefined ? {} : { [key]: value };
}
