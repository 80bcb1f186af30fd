/** How a service that nobody described wants to be asked: which request it answers with a list of results. */
import { type SeenExchange, watchExchanges } from '../outbound/exchange.ts';
import { parseExactJson } from '../text/json.ts';
import { type FoundResults, findResults } from './find-results.ts';
import { createHttpRetriever } from './http.ts';
import type { JsonValue } from './template.ts';

export interface FoundRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  /** With placeholders; null for GET. */
  readonly body: JsonValue | null;
  readonly results: FoundResults;
  /** Whether it gives fewer when it is asked for fewer. */
  readonly knowsK: boolean;
  /** Whether another question has another answer. */
  readonly knowsText: boolean;
}

export type RequestSearch =
  | { readonly kind: 'found'; readonly request: FoundRequest }
  /** What the last attempt met; `isReached` when the service answered at all. */
  | { readonly kind: 'not_found'; readonly isReached: boolean; readonly reason: string };

const textKeys = ['query', 'question', 'q', 'text', 'input', 'prompt', 'search'];
const countKeys = ['k', 'top_k', 'topK', 'limit', 'size', 'n_results', 'num_results', 'max_results'];
const TIMEOUT_MS = 20_000;
const [FEW, MANY] = [2, 10];

interface Attempt {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly body: JsonValue | null;
}

/**
 * Asks with one question in the usual forms, one after the other: 44 requests at most.
 *
 * @param texts two questions that should have different answers
 * @throws RecalldError config_invalid for an address that cannot be called; the reason of `signal`
 */
export async function findRequest(
  url: string,
  headers: Readonly<Record<string, string>>,
  texts: readonly [string, string],
  signal: AbortSignal,
): Promise<RequestSearch> {
  let last: RequestSearch = { kind: 'not_found', isReached: false, reason: 'Nothing was asked.' };
  let deaf: FoundRequest | null = null;
  for (const attempt of attemptsFor(url)) {
    const one = await ask(attempt, headers, { text: texts[0], k: MANY }, signal);
    const other = one.kind === 'found' ? await ask(attempt, headers, { text: texts[1], k: MANY }, signal) : one;
    if (one.kind === 'found' && other.kind === 'found') {
      if (one.results.ids.join('\0') !== other.results.ids.join('\0')) {
        const counted = await withCount(attempt, one, headers, texts[0], signal);
        return { kind: 'found', request: { ...counted, knowsText: true } };
      }
      deaf ??= { ...attempt, results: one.results, knowsK: false, knowsText: false };
    } else if (other.kind === 'not_found') {
      last = other;
      // Nobody is there: another form of the same question will not help.
      if (!other.isReached) break;
    }
  }
  return deaf === null ? last : { kind: 'found', request: deaf };
}

/** A text key alone first, since a strict service refuses what it does not know; then with a count, which some need. */
function attemptsFor(url: string): Attempt[] {
  if (url.includes('{{text}}')) return [{ url, method: 'GET', body: null }];
  const alone = textKeys.map((key): Attempt => ({ url, method: 'POST', body: { [key]: '{{text}}' } }));
  const counted = ['k', 'top_k'].map(
    (key): Attempt => ({ url, method: 'POST', body: { query: '{{text}}', [key]: '{{k}}' } }),
  );
  const messages: JsonValue = [{ role: 'user', content: '{{text}}' }];
  const separator = url.includes('?') ? '&' : '?';
  const inUrl = ['q', 'query', 'question', 'text'].map(
    (key): Attempt => ({ url: `${url}${separator}${key}={{text}}`, method: 'GET', body: null }),
  );
  return [...alone, ...counted, { url, method: 'POST', body: { messages } }, ...inUrl];
}

interface Found {
  readonly kind: 'found';
  readonly results: FoundResults;
}

/** The same request with the name of the count that the service heeds, where it heeds one. */
async function withCount(
  attempt: Attempt,
  { results }: Found,
  headers: Readonly<Record<string, string>>,
  text: string,
  signal: AbortSignal,
): Promise<Omit<FoundRequest, 'knowsText'>> {
  const asIs = { ...attempt, results };
  if (JSON.stringify(attempt).includes('{{k}}')) {
    const few = await ask(attempt, headers, { text, k: FEW }, signal);
    return { ...asIs, knowsK: few.kind === 'found' && few.results.ids.length <= FEW };
  }
  for (const key of countKeys) {
    const counted = withKey(attempt, key);
    const [few, many] = [
      await ask(counted, headers, { text, k: FEW }, signal),
      await ask(counted, headers, { text, k: MANY }, signal),
    ];
    if (few.kind === 'found' && many.kind === 'found' && few.results.ids.length <= FEW && many.results.ids.length > FEW)
      return { ...counted, results: many.results, knowsK: true };
  }
  return { ...asIs, knowsK: false };
}

function withKey({ url, method, body }: Attempt, key: string): Attempt {
  return body === null
    ? { url: `${url}${url.includes('?') ? '&' : '?'}${key}={{k}}`, method, body }
    : { url, method, body: { ...(body as Readonly<Record<string, JsonValue>>), [key]: '{{k}}' } };
}

async function ask(
  { url, method, body }: Attempt,
  headers: Readonly<Record<string, string>>,
  { text, k }: { readonly text: string; readonly k: number },
  signal: AbortSignal,
): Promise<Found | Extract<RequestSearch, { readonly kind: 'not_found' }>> {
  const results = { list: '@', id: 'id', score: null };
  const retriever = createHttpRetriever({ url, method, headers, body, results, timeoutMs: TIMEOUT_MS, retries: 0 });
  const seen: SeenExchange[] = [];
  try {
    const answer = await watchExchanges(
      (exchange) => seen.push(exchange),
      () => retriever.retrieve({ text, k, tags: {} }, signal),
    );
    const result = seen.at(-1)?.result;
    if (result?.kind !== 'body') {
      const reason = answer.kind === 'documents' ? '' : answer.message;
      const isReached = answer.kind === 'error' && (answer.code.startsWith('http_') || answer.code === 'too_large');
      return { kind: 'not_found', isReached, reason };
    }
    const found = findResults(parsed(result.text));
    if (found !== null) return { kind: 'found', results: found };
    const reason = `${url.split('?')[0]} answered, but without a list in which each result has an id.`;
    return { kind: 'not_found', isReached: true, reason };
  } finally {
    await retriever.close?.();
  }
}

function parsed(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return null;
  }
}
