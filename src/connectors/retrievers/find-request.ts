/**
 * Discovers how to query an undocumented service: finds a request to which the service responds with a list of results.
 */

import { contentId } from '../../core/text/content-id.ts';
import { parseExactJson } from '../../core/text/json.ts';
import { type SeenExchange, watchExchanges } from '../../platform/outbound/exchange.ts';
import { at } from '../../platform/outbound/json-api.ts';
import type { RetrieverConfigOf } from './config.ts';
import { createHttpRetriever } from './http.ts';
import { readId } from './results.ts';
import type { RetrieverAnswer } from './retriever.ts';

type Body = NonNullable<RetrieverConfigOf<'http'>['body']> | null;

export interface FoundRequest extends Attempt {
  readonly results: FoundResults;
  /** True if the service returns fewer results when fewer are requested. */
  readonly knowsK: boolean;
  /** True if a different query returns different results. */
  readonly knowsText: boolean;
}

export type RequestSearch =
  | { readonly kind: 'found'; readonly request: FoundRequest }
  /** The most informative failure, and its reason. */
  | { readonly kind: 'not_found'; readonly problem: SearchProblem; readonly reason: string };

/**
 * Reasons why a service returned no list of results, from the least to the most informative. If attempts failed for
 * different reasons, recalld reports the most informative one.
 */
const searchProblems = [
  'missing',
  'other',
  'html',
  'empty',
  'redirect',
  'timeout',
  'limited',
  'unauthorized',
  'unreachable',
] as const;

type SearchProblem = (typeof searchProblems)[number];

/** Problems that occur with every form of the request, so further attempts are pointless. */
const final: ReadonlySet<SearchProblem> = new Set(['redirect', 'timeout', 'limited', 'unauthorized', 'unreachable']);

const textKeys = ['query', 'question', 'q', 'text', 'input', 'prompt', 'search'];
const countKeys = ['k', 'top_k', 'topK', 'limit', 'size', 'n_results', 'num_results', 'max_results'];
const TIMEOUT_MS = 20_000;
const [FEW, MANY] = [2, 10];

interface Attempt {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  /** Request body with placeholders; null for GET. */
  readonly body: Body;
}

/**
 * Tries the usual forms of a request, one after the other, in at most 44 requests.
 *
 * @param texts two queries that should return different results
 * @throws RecalldError config_invalid for an address that cannot be called; `signal.reason` if `signal` aborts
 */
export async function findRequest(
  url: string,
  headers: Readonly<Record<string, string>>,
  [text, otherText]: readonly [string, string],
  signal: AbortSignal,
): Promise<RequestSearch> {
  const send: Send = (attempt, k, asked = text) => ask(attempt, headers, { text: asked, k }, signal);
  let best: NotFound = { kind: 'not_found', problem: 'missing', reason: 'No request was sent.' };
  let ignoresText: FoundRequest | null = null;
  for (const attempt of attemptsFor(url)) {
    const one = await send(attempt, MANY);
    const other = one.kind === 'found' ? await send(attempt, MANY, otherText) : one;
    if (one.kind === 'found' && other.kind === 'found') {
      if (one.results.ids.join('\0') !== other.results.ids.join('\0')) {
        const counted = await withCount(attempt, one, send);
        return { kind: 'found', request: { ...counted, knowsText: true } };
      }
      ignoresText ??= { ...attempt, results: one.results, knowsK: false, knowsText: false };
    } else if (other.kind === 'not_found') {
      if (searchProblems.indexOf(other.problem) >= searchProblems.indexOf(best.problem)) best = other;
      if (final.has(other.problem)) break;
    }
  }
  return ignoresText === null ? best : { kind: 'found', request: ignoresText };
}

/**
 * First tries requests that have only a key for the query text, because a strict service rejects unknown keys. The
 * later requests also have a key for the number of results, which some services require.
 */
function attemptsFor(url: string): Attempt[] {
  if (url.includes('{{text}}')) return [{ url, method: 'GET', body: null }];
  const alone = textKeys.map((key): Attempt => ({ url, method: 'POST', body: { [key]: '{{text}}' } }));
  const counted = ['k', 'top_k'].map(
    (key): Attempt => ({ url, method: 'POST', body: { query: '{{text}}', [key]: '{{k}}' } }),
  );
  const messages = [{ role: 'user', content: '{{text}}' }];
  const inUrl = ['q', 'query', 'question', 'text'].map(
    (key): Attempt => ({ url: withParameter(url, `${key}={{text}}`), method: 'GET', body: null }),
  );
  return [...alone, ...counted, { url, method: 'POST', body: { messages } }, ...inUrl];
}

const withParameter = (url: string, parameter: string): string => `${url}${url.includes('?') ? '&' : '?'}${parameter}`;

interface Found {
  readonly kind: 'found';
  readonly results: FoundResults;
}

/** Sends a query, by default the first one, and asks for k results. */
type Send = (attempt: Attempt, k: number, text?: string) => Promise<Found | NotFound>;

/** Adds a parameter for the number of results, if the service supports one. */
async function withCount(attempt: Attempt, { results }: Found, send: Send): Promise<Omit<FoundRequest, 'knowsText'>> {
  const asIs = { ...attempt, results };
  if (JSON.stringify(attempt).includes('{{k}}')) {
    const few = await send(attempt, FEW);
    return { ...asIs, knowsK: few.kind === 'found' && few.results.ids.length <= FEW };
  }
  for (const key of countKeys) {
    const counted = withKey(attempt, key);
    const [few, many] = [await send(counted, FEW), await send(counted, MANY)];
    if (few.kind === 'found' && many.kind === 'found' && few.results.ids.length <= FEW && many.results.ids.length > FEW)
      return { ...counted, results: many.results, knowsK: true };
  }
  return { ...asIs, knowsK: false };
}

function withKey({ url, method, body }: Attempt, key: string): Attempt {
  return body === null
    ? { url: withParameter(url, `${key}={{k}}`), method, body }
    : { url, method, body: { ...(body as Record<string, NonNullable<Body>>), [key]: '{{k}}' } };
}

async function ask(
  { url, method, body }: Attempt,
  headers: Readonly<Record<string, string>>,
  { text, k }: { readonly text: string; readonly k: number },
  signal: AbortSignal,
): Promise<Found | NotFound> {
  const results = { list: '@', id: 'id', score: null, stages: {} };
  const config = { kind: 'http', url, method, headers, body, results, timeout_ms: TIMEOUT_MS, retries: 0 } as const;
  const retriever = createHttpRetriever(config, true, 'retriever');
  const seen: SeenExchange[] = [];
  try {
    const answer = await watchExchanges(
      (exchange) => seen.push(exchange),
      () => retriever.retrieve({ text, k, tags: {} }, signal),
    );
    const result = seen.at(-1)?.result;
    if (result?.kind !== 'body') {
      const reason = answer.kind === 'documents' ? '' : answer.message;
      return { kind: 'not_found', problem: problemOf(answer), reason };
    }
    const found = findResults(parsed(result.text));
    if (found !== null) return { kind: 'found', results: found };
    const place = url.split('?')[0];
    if (isHtml(result)) return { kind: 'not_found', problem: 'html', reason: `${place} returned HTML.` };
    const reason = `${place} returned no list in which each result has an id.`;
    return { kind: 'not_found', problem: hasEmptyList(parsed(result.text), 0) ? 'empty' : 'other', reason };
  } finally {
    await retriever.close?.();
  }
}

type NotFound = Extract<RequestSearch, { readonly kind: 'not_found' }>;

function problemOf(answer: RetrieverAnswer): SearchProblem {
  if (answer.kind === 'timeout') return 'timeout';
  const code = answer.kind === 'error' ? answer.code : '';
  if (code === 'http_404') return 'missing';
  if (code === 'http_401' || code === 'http_403' || code === 'http_407') return 'unauthorized';
  if (code === 'http_429') return 'limited';
  if (code === 'http_redirect') return 'redirect';
  return code.startsWith('http_') || code === 'too_large' ? 'other' : 'unreachable';
}

function isHtml({ text, contentType }: { readonly text: string; readonly contentType: string | null }): boolean {
  return /^text\/html|^application\/xhtml/i.test(contentType ?? '') || /^\s*<(?:!doctype html|html)\b/i.test(text);
}

/** True if the response has at least one list and all of its lists are empty. */
function hasEmptyList(value: unknown, depth: number): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== 'object' || value === null || depth === DEEPEST) return false;
  const inner = Object.values(value);
  return (
    inner.some((one) => hasEmptyList(one, depth + 1)) && !inner.some((one) => Array.isArray(one) && one.length > 0)
  );
}

function parsed(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return null;
  }
}

export type FoundResults = NonNullable<ReturnType<typeof findResults>>;

/** Common names of id fields, most likely first. */
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
/**
 * Keys under which a result may contain an object with the id, the score or the text. The empty key stands for the
 * result itself.
 */
const holders = ['', 'metadata', 'document', 'payload', 'node', '_source', 'fields', 'doc', 'properties'];

const DEEPEST = 6;
/** Maximum number of results that are examined per list. Each result is searched for every known field name. */
const EXAMINED = 100;

/**
 * Finds the list whose ids are the most likely to be document ids. Among equally likely candidates, prefers a list with
 * scores, then a list with texts, then the first list.
 *
 * @returns null if the response contains no list whose results all have an id or all have a text
 */
export function findResults(answer: unknown) {
  const found = listsIn(answer, [], 0).flatMap(({ path, items }) => readList(path, items) ?? []);
  return found.toSorted((a, b) => a.rank - b.rank)[0]?.results ?? null;
}

interface PlacedList {
  readonly path: readonly string[];
  readonly items: readonly unknown[];
}

function listsIn(value: unknown, path: readonly string[], depth: number): PlacedList[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : [{ path, items: value.slice(0, EXAMINED) }];
  if (typeof value !== 'object' || value === null || depth === DEEPEST) return [];
  return Object.entries(value).flatMap(([key, inner]) => listsIn(inner, [...path, key], depth + 1));
}

function readList(path: readonly string[], items: readonly unknown[]) {
  const score = firstPlace(items, scoreNames, (value) => Number.isFinite(value));
  const text = firstPlace(items, textNames, (value) => typeof value === 'string' && contentId(value) !== null);
  const found = (rank: number, id: string | null, ids: readonly string[]) => ({
    rank,
    // `list`, `id`, `score` and `text` are JMESPath expressions, as in the config section `retriever.results`.
    results: {
      list: path.length === 0 ? '@' : expressionOf(path),
      /** Ids of the first hundred results. */
      ids,
      /** Expression for the id; null if only texts distinguish the results. */
      id,
      score: score === null ? null : expressionOf(score),
      text: text === null ? null : expressionOf(text),
      /** True if all ids are different. Ids may repeat, because chunks of one document may share an id. */
      isUnique: isUnique(ids),
    },
  });
  const own = items.flatMap((item) => readId(item) ?? []);
  if (own.length === items.length) return found(1000, '@', own);
  const ids = placesOf(idNames)
    .map((place, order) => ({ place, order, values: items.flatMap((item) => readId(at(item, ...place)) ?? []) }))
    .filter(({ values }) => values.length === items.length);
  const id = ids.find(({ values }) => isUnique(values)) ?? ids[0];
  if (id === undefined) {
    // An id, if there is one, is preferred over the text.
    const texts = text === null ? [] : items.flatMap((item) => contentId(String(at(item, ...text))) ?? []);
    return text === null ? null : found(900, null, texts);
  }
  const lacks = (score === null ? 2 : 0) + (text === null ? 1 : 0) + (isUnique(id.values) ? 0 : 500);
  return found(4 * id.order + lacks, expressionOf(id.place), id.values);
}

function isUnique(ids: readonly string[]): boolean {
  return new Set(ids).size === ids.length;
}

function firstPlace(items: readonly unknown[], names: readonly string[], isRight: (value: unknown) => boolean) {
  return placesOf(names).find((place) => items.every((item) => isRight(at(item, ...place)))) ?? null;
}

const placesOf = (names: readonly string[]): readonly (readonly string[])[] =>
  names.flatMap((name) => holders.map((holder) => (holder === '' ? [name] : [holder, name])));

/** JMESPath requires double quotes around anything other than a plain name. */
function expressionOf(path: readonly string[]): string {
  return path.map((key) => (/^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key))).join('.');
}
