/**
 * Classifies the documents that outrank a given document: copies, other versions, hub documents, or documents in
 * another language.
 */

import { percentage } from '../../../core/format.ts';
import { countEach } from '../../../core/group-by.ts';
import { languageName, languageOf } from '../../../core/text/language.ts';
import { jaccard, nearDuplicates, wordsOf } from '../../../golden/rules/similar-texts.ts';

export interface RankedDocument {
  readonly id: string;
  readonly score: number | null;
  readonly text: string | null;
}

export interface Ranking {
  /** Best first. */
  readonly documents: readonly RankedDocument[];
  /** Why there is no ranking; null if there is one. */
  readonly problem: string | null;
}

/** Returns the rank (from 1) and the score of a document; null if it is absent. A document counts at its best rank. */
export function placeIn(
  documents: readonly RankedDocument[],
  id: string,
): { readonly rank: number; readonly score: number | null } | null {
  const distinct = new Map<string, number | null>();
  for (const one of documents) {
    if (!distinct.has(one.id)) distinct.set(one.id, one.score);
    if (one.id === id) return { rank: distinct.size, score: distinct.get(id) ?? null };
  }
  return null;
}

/** Number of distinct documents. */
export const lengthOf = ({ documents }: Ranking): number => new Set(documents.map(({ id }) => id)).size;

const MAX_NAMED = 3;

export function namesOf(ids: readonly string[]): string {
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  return `${ids.slice(0, MAX_NAMED).join(', ')}${more}`;
}

export type OutrankedBy = 'near_duplicates' | 'version' | 'hubs' | 'language';

interface Outranked {
  readonly by: OutrankedBy;
  readonly evidence: string;
  readonly action: string;
}

interface StandsAbove extends Omit<RankedDocument, 'score'> {
  /** Distinct documents that are ranked higher, best first; their number is the rank of this document minus 1. */
  readonly above: readonly RankedDocument[];
  /** Number of documents that users get. */
  readonly k: number;
  /** Hub documents, each with the share of queries that retrieve it. */
  readonly hubs: ReadonlyMap<string, number>;
}

const SAME_TEXT = 0.8;
export const isSameText = (one: string, other: string): boolean =>
  jaccard(new Set(wordsOf(one)), new Set(wordsOf(other))) >= SAME_TEXT;

/**
 * Minimum text similarity of two documents that count as versions of each other. Their ids must be equal apart from the
 * version.
 */
const OF_A_VERSION = 0.5;

/** Returns the first matching explanation; null if the other documents simply have higher scores. */
export function outrankedBy(above: StandsAbove): Outranked | null {
  return byVersion(above) ?? byCopies(above) ?? byHubs(above) ?? byLanguage(above);
}

const mark =
  /(?:^|[^\p{L}\p{N}])(?:(?:v|ver|version|rev)[._-]?\d+(?:[._]\d+)*|\d{4}-\d{2}(?:-\d{2})?)(?![\p{L}\p{N}])/giu;

/** `kb-17-v2#4` and `kb-17-v3#4` are versions of `kb-17#4`. */
const unversioned = (id: string): string => id.replaceAll(mark, '');

function byVersion({ id, text, above, k }: StandsAbove): Outranked | null {
  const own = unversioned(id);
  const words = text === null ? null : new Set(wordsOf(text));
  const versions = above
    .slice(0, k)
    .filter((one) => unversioned(one.id) === own)
    .filter((one) => words === null || one.text === null || jaccard(words, new Set(wordsOf(one.text))) >= OF_A_VERSION);
  if (versions.length === 0) return null;
  return {
    by: 'version',
    evidence: `Another version of this document is ranked higher: ${namesOf(versions.map((one) => one.id))}.`,
    action: 'Remove outdated versions from the index, or filter for the current version.',
  };
}

function byCopies({ text, above, k }: StandsAbove): Outranked | null {
  const pairs = nearDuplicates([...above.map((one) => one.text ?? ''), text ?? ''], SAME_TEXT);
  const ofIt = pairs.flatMap(({ first, second }) => (second === above.length ? (above[first]?.id ?? []) : []));
  if (ofIt.length > 0)
    return {
      by: 'near_duplicates',
      evidence: `A document with the same text is ranked higher: ${namesOf(ofIt)}.`,
      action: 'Remove the copies from the index, or give them the same judgment as this document.',
    };
  const surplus = new Set(pairs.filter(({ second }) => second < above.length).map(({ second }) => second)).size;
  if (surplus === 0 || above.length - surplus >= k) return null;
  return {
    by: 'near_duplicates',
    evidence: `${surplus} of the ${above.length} higher-ranked documents repeat the text of another document.`,
    action: 'Remove duplicates from the index, or from the result list before it is cut off.',
  };
}

function byHubs({ above, k, hubs }: StandsAbove): Outranked | null {
  const found = above.flatMap(({ id }) => (hubs.has(id) ? [{ id, share: hubs.get(id) ?? 0 }] : []));
  if (found.length === 0 || above.length - found.length >= k) return null;
  const shown = found.slice(0, 3).map(({ id, share }) => `${id} for ${percentage(share)}`);
  return {
    by: 'hubs',
    evidence: `${found.length} of the ${above.length} higher-ranked documents are hub documents, which are returned for many unrelated queries: ${shown.join(', ')}.`,
    action: 'Review these documents with `recalld index hubs`: split or remove texts that match unrelated queries.',
  };
}

function byLanguage({ text, above, k }: StandsAbove): Outranked | null {
  const own = text === null ? null : languageOf(text);
  if (own === null) return null;
  const others = above.flatMap((one) => (one.text === null ? [] : (languageOf(one.text) ?? [])));
  const counts = countEach(others.filter((language) => language !== own));
  const [[language, count] = ['', 0]] = [...counts].toSorted((a, b) => b[1] - a[1]);
  // A few higher-ranked documents in another language do not explain the rank, and their language may have been
  // misclassified.
  if (above.length - count >= k || 2 * count < above.length) return null;
  return {
    by: 'language',
    evidence: `${count} of the ${above.length} higher-ranked documents are in ${languageName(language)}; this document is in ${languageName(own)}.`,
    action: 'Filter by the language of the query, or use a multilingual embedder.',
  };
}
