/**
 * What can be wrong with a document of an index, a closed list, so that it can be a label of a metric; how each is told
 * from what the store holds; and what is wrong for certain, in a sentence, for alarms and diagnoses.
 */

import { duration, percentage } from '../../../core/format.ts';
import type { GoldenQuery } from '../../../core/model.ts';
import { cosineSimilarity } from '../../../math/vector/matrix.ts';

/** What can be wrong with a document of an index; a closed list, so that it can be a label of a metric. */
export const findingKinds = ['missing', 'unretrievable', 'orphaned', 'superseded', 'other_model'] as const;

export type FindingKind = (typeof findingKinds)[number];

/** Of what documents are named: beside what is wrong, changes that wait for longer than they may. */
export const namedKinds = [...findingKinds, 'late'] as const;

export type NamedKind = (typeof namedKinds)[number];

/** For headings and tables. */
export const findingWords: Readonly<Record<NamedKind, string>> = {
  missing: 'missing',
  unretrievable: 'not retrieved',
  orphaned: 'orphaned',
  superseded: 'superseded',
  other_model: 'of another model',
  late: 'late',
};

/** The latest share of a kind of finding. */
export interface WrongShare {
  readonly kind: FindingKind;
  readonly value: number;
  readonly ciLow: number;
  readonly n: number;
  /** Documents that are known by their ids. */
  readonly known: number;
}

/** Share of documents with which something must be wrong at the least, by the lower 95 % bound. */
export const WRONG_SHARE = 0.005;

export function isWrong({ ciLow }: Pick<WrongShare, 'ciLow'>): boolean {
  return ciLow > WRONG_SHARE;
}

const whatIs: Readonly<Record<FindingKind, string>> = {
  missing: 'of the manifest are missing in the store',
  unretrievable: 'of the store are not found by their own text',
  orphaned: 'of the store should no longer be there',
  superseded: 'have chunks of more than one version in the store',
  other_model: 'have vectors of another model',
};

/** `412 documents of the manifest are missing in the store (2.1 % of 20000, at least 1.9 %).` */
export function wrongSentence({ kind, value, ciLow, n, known }: WrongShare): string {
  const documents = `${known} ${known === 1 ? 'document' : 'documents'}`;
  return `${documents} ${whatIs[kind]} (${percentage(value)} of ${n} looked at, at least ${percentage(ciLow)}).`;
}

/** How long 19 of 20 changes of the last day take at the most to arrive in the store, in seconds. */
export interface ArrivalLag {
  readonly seconds: number;
  /** Lower 95 % bound. */
  readonly atLeast: number;
  /** `late_after` of the config. */
  readonly allowed: number;
  /** Changes behind it, those of them that have not come, and those that wait for longer than is allowed. */
  readonly n: number;
  readonly waiting: number;
  readonly overdue: number;
}

/** Once all that was late has come it is over, whatever the last day was like. */
export function isLate({ atLeast, allowed, overdue }: ArrivalLag): boolean {
  return atLeast > allowed && overdue > 0;
}

/** `One in twenty changes takes at least 5 h 20 min to arrive in the store (n = 40, 3 not there yet); 1 h 0 min is allowed.` */
export function lagSentence({ atLeast, allowed, n, waiting }: ArrivalLag): string {
  const missing = waiting === 0 ? '' : `, ${waiting} not there yet`;
  return `One in twenty changes takes at least ${duration(atLeast)} to arrive in the store (n = ${n}${missing}); ${duration(allowed)} is allowed.`;
}

/** A chunk of one document. */
interface Chunk {
  readonly version: string | null;
  readonly content: string | null;
}

/** Words that make a piece of a text that is compared. */
const PIECE = 5;
/** A shorter text, such as a heading, may stand in a document twice. */
const MIN_WORDS = 20;
/** Windows of one text that overlap by half share a third of their pieces. */
const SAME_TEXT = 0.7;

/**
 * By the number of chunks, where the manifest says it, and by their versions, where the store has any; else by their
 * texts: of one version no two chunks say nearly the same.
 *
 * @param expected how many chunks the document has
 * @returns null where nothing says it
 */
export function isSuperseded(chunks: readonly Chunk[], expected: number | null): boolean | null {
  if (expected !== null && chunks.length > expected) return true;
  const versions = new Set(chunks.flatMap(({ version }) => version ?? []));
  if (versions.size > 0) return versions.size > 1;
  const texts = chunks.flatMap(({ content }) => content ?? []);
  if (texts.length === 0) return expected === null && chunks.length > 1 ? null : false;
  const pieces = texts.map(piecesOf).filter(({ size }) => size > MIN_WORDS - PIECE);
  return pieces.some((one, place) => pieces.slice(place + 1).some((other) => resemblance(one, other) >= SAME_TEXT));
}

function piecesOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(
    words.slice(0, Math.max(0, words.length - PIECE + 1)).map((_, at) => words.slice(at, at + PIECE).join(' ')),
  );
}

/** Shared pieces of all pieces of both (Broder 1997). */
function resemblance(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const piece of one) if (other.has(piece)) shared += 1;
  return shared / (one.size + other.size - shared);
}

/**
 * Whether the store has this version of a document: a chunk says its hash, or its time to the second.
 *
 * @param version as the manifest says it
 */
export function hasVersion(chunks: readonly Pick<Chunk, 'version'>[], version: string): boolean {
  const time = Date.parse(version);
  return chunks.some(({ version: stored }) => {
    if (stored === null) return false;
    if (stored === version) return true;
    // Digits alone are a number, and no year.
    return !/^\d+$/.test(stored) && Math.abs(Date.parse(stored) - time) < 1000;
  });
}

/** An embedder that does not give the same vector again is allowed several times what it differs by. */
const TIMES_NOISE = 4;

interface EmbeddedAgain {
  readonly stored: Float32Array;
  /** Of its text, now. */
  readonly again: Float32Array;
  /** Of the same text, once more. */
  readonly repeated: Float32Array;
}

/**
 * @param leastCosine to the stored vector that the same model gives; stores that keep vectors in 8 bits lose little of it
 */
export function isOfOtherModel({ stored, again, repeated }: EmbeddedAgain, leastCosine: number): boolean {
  if (stored.length !== again.length) return true;
  const noise = 1 - cosineSimilarity(again, repeated);
  return 1 - cosineSimilarity(stored, again) > Math.max(1 - leastCosine, TIMES_NOISE * noise);
}

/** Characters of a question; a longer one is none. */
const QUESTION_CHARACTERS = 300;

/** The start of the first text, as a user would ask who has it before him; null where none says anything. */
export function questionOf(contents: readonly (string | null)[]): string | null {
  const text = contents.find((content) => content !== null && content.trim() !== '');
  return text?.trim().slice(0, QUESTION_CHARACTERS).trim() ?? null;
}

/**
 * What all ids of a segment begin with, up to the last sign that is neither letter nor digit, so that ids to come begin so
 * too: `tenant-b/` of `tenant-b/10` to `tenant-b/17`. Null where there is no such beginning.
 *
 * @param first the least of the ids, by their bytes
 * @param last the greatest: what the two share, all do
 */
export function sharedBeginning(first: string, last: string): string | null {
  let length = 0;
  while (length < first.length && first[length] === last[length]) length += 1;
  return /^.*[^\p{L}\p{N}\p{M}\p{Cs}*\s]/su.exec(first.slice(0, length))?.[0] ?? null;
}

/**
 * @param segment it is asked as, written `key=value`, which become its tags
 * @param forbidden ids, or a beginning with `*`, of the segment whose words it has
 */
export function tenantProbe(
  id: string,
  text: string,
  segment: string,
  forbidden: readonly string[],
): GoldenQuery & { readonly forbidden: readonly string[] } {
  return { id, text, tags: segmentTags(segment), judgments: [], forbidden };
}

/** A segment of the manifest as the tags of a query. */
export function segmentTags(segment: string | null): Readonly<Record<string, string>> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(segment ?? '') ?? [];
  return key === undefined || value === undefined ? {} : { [key]: value };
}
