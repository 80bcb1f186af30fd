/** Asks the demo's RAG service as its users do. */
import type { SearchAnswer } from './traffic.ts';

export interface Searcher {
  readonly search: (text: string) => Promise<SearchAnswer>;
  /** To be called when the service may answer otherwise than before. */
  readonly forget: () => void;
}

/** Remembers what was answered: the service answers the same question alike until something is changed about it. */
export function createSearcher(url: string, signal: AbortSignal): Searcher {
  const known = new Map<string, Promise<SearchAnswer>>();
  return {
    search(text) {
      const answer = known.get(text) ?? ask(url, text, signal);
      known.set(text, answer);
      return answer;
    },
    forget: () => known.clear(),
  };
}

/** @throws the reason of `signal`; a service that fails is an answer too */
export async function ask(url: string, text: string, signal: AbortSignal): Promise<SearchAnswer> {
  const startedMs = performance.now();
  const answered = await searched(url, text, signal).catch(() => {
    signal.throwIfAborted();
    return { results: [], error: 'unreachable' };
  });
  return { ...answered, latencyMs: performance.now() - startedMs };
}

async function searched(
  url: string,
  text: string,
  signal: AbortSignal,
): Promise<Pick<SearchAnswer, 'results' | 'error'>> {
  const response = await fetch(`${url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: text, k: 10 }),
    signal,
  });
  const body = (await response.json()) as { results: { id: string; score: number }[] };
  if (!response.ok) return { results: [], error: `http_${response.status}` };
  return { results: body.results.map(({ id, score }) => ({ id, score })), error: null };
}
