/** Where an answer that nobody described holds its ranked list, and in it ids, scores and texts. */
import { contentId } from '../text/content-id.ts';
import { readId } from './results.ts';

export interface FoundResults {
  /** JMESPath, as `retriever.results` takes it. */
  readonly list: string;
  /** Null where only texts tell the results apart. */
  readonly id: string | null;
  readonly score: string | null;
  readonly text: string | null;
  readonly ids: readonly string[];
  /** Whether no id comes twice; chunks of one document may share theirs. */
  readonly isUnique: boolean;
}

/** Most likely first, as services call them. */
const idNames = [
  'id',
  '_id',
  'doc_id',
  'docId',
  'document_id',
  'documentId',
  'chunk_id',
  'chunkId',
  'node_id',
  'uuid',
  'key',
  'source_id',
  'url',
  'uri',
  'path',
  'source',
  'file',
  'name',
  'title',
];
const scoreNames = [
  'score',
  '_score',
  'relevance_score',
  'relevance',
  'similarity',
  'rerank_score',
  '@search.score',
  'distance',
];
const textNames = ['text', 'content', 'page_content', 'pageContent', 'body', 'passage', 'chunk', 'snippet', 'document'];
/** Where a result keeps them, itself first. */
const holders = ['', 'metadata', 'document', 'payload', 'node', '_source', 'fields', 'doc', 'properties'];

const DEEPEST = 6;

/**
 * The list with the likeliest ids; of two alike the one with scores, then with texts, then the one found first.
 *
 * @returns null when no list of the answer has an id, or a text, for each of its results
 */
export function findResults(answer: unknown): FoundResults | null {
  const found = listsIn(answer, [], 0).flatMap(({ path, items }) => readList(path, items) ?? []);
  return found.toSorted((a, b) => a.rank - b.rank)[0]?.results ?? null;
}

interface PlacedList {
  readonly path: readonly string[];
  readonly items: readonly unknown[];
}

function listsIn(value: unknown, path: readonly string[], depth: number): PlacedList[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : [{ path, items: value }];
  if (typeof value !== 'object' || value === null || depth === DEEPEST) return [];
  return Object.entries(value).flatMap(([key, inner]) => listsIn(inner, [...path, key], depth + 1));
}

function readList(
  path: readonly string[],
  items: readonly unknown[],
): { readonly rank: number; readonly results: FoundResults } | null {
  const list = path.length === 0 ? '@' : expressionOf(path);
  const own = items.flatMap((item) => readId(item) ?? []);
  if (own.length === items.length) {
    const results = { list, ids: own, id: '@', score: null, text: null, isUnique: new Set(own).size === own.length };
    return { rank: 1000, results };
  }
  const places = idNames.flatMap((name) => holders.map((holder) => placeOf(holder, name)));
  const ids = places
    .map((place, order) => ({ place, order, values: items.flatMap((item) => readId(at(item, place)) ?? []) }))
    .filter(({ values }) => values.length === items.length)
    .map((one) => ({ ...one, isUnique: new Set(one.values).size === items.length }));
  const id = ids.find(({ isUnique }) => isUnique) ?? ids[0];
  const score = firstPlace(items, scoreNames, (value) => Number.isFinite(value));
  const text = firstPlace(items, textNames, (value) => typeof value === 'string' && contentId(value) !== null);
  if (id === undefined) return text === null ? null : byTexts(list, items, text, score);
  const lacks = (score === null ? 2 : 0) + (text === null ? 1 : 0);
  return {
    rank: 4 * id.order + lacks + (id.isUnique ? 0 : 500),
    results: {
      list,
      ids: id.values,
      id: expressionOf(id.place),
      score: score === null ? null : expressionOf(score),
      text: text === null ? null : expressionOf(text),
      isUnique: id.isUnique,
    },
  };
}

/** Results that have no id, each called by its text; likelier than texts alone, and less so than any id. */
function byTexts(
  list: string,
  items: readonly unknown[],
  text: readonly string[],
  score: readonly string[] | null,
): { readonly rank: number; readonly results: FoundResults } {
  const ids = items.flatMap((item) => contentId(String(at(item, text))) ?? []);
  return {
    rank: 900,
    results: {
      list,
      ids,
      id: null,
      score: score === null ? null : expressionOf(score),
      text: expressionOf(text),
      isUnique: new Set(ids).size === ids.length,
    },
  };
}

function firstPlace(
  items: readonly unknown[],
  names: readonly string[],
  isRight: (value: unknown) => boolean,
): readonly string[] | null {
  const places = names.flatMap((name) => holders.map((holder) => placeOf(holder, name)));
  return places.find((place) => items.every((item) => isRight(at(item, place)))) ?? null;
}

const placeOf = (holder: string, name: string): readonly string[] => (holder === '' ? [name] : [holder, name]);

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string, unknown>)[key]
        : undefined,
    value,
  );
}

/** JMESPath puts what is no plain name in double quotes. */
function expressionOf(path: readonly string[]): string {
  return path.map((key) => (/^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key))).join('.');
}
