/** The analyzer of Presidio, and services that speak as it does: `POST /analyze`. */
import { createJsonApi } from '../outbound/json-api.ts';
import type { FoundEntity } from './rules/found-entities.ts';

export interface PresidioSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly language: string;
  readonly scoreThreshold: number;
  /** Types to look for; null for all that the service knows. */
  readonly entities: readonly string[] | null;
  /** For one text, its wait for a turn included. */
  readonly timeoutMs: number;
  /** Most texts that are with the service at a time. */
  readonly concurrency: number;
  /** Where the config describes it, for messages. */
  readonly configField: string;
}

/** A text of 100,000 characters, each a find, and explanations that nobody asked for. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** @throws RecalldError config_invalid for a URL that cannot be called */
export function createPresidioAnalyzer(settings: PresidioSettings): EntityAnalyzer {
  const { configField, timeoutMs, language, scoreThreshold, entities, concurrency } = settings;
  const api = createJsonApi({
    service: 'Presidio',
    configField,
    url: settings.url,
    headers: settings.headers,
    timeoutMs,
    retries: 0,
    maxPerSecond: null,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  const semaphore = createSemaphore(concurrency);
  const options = { language, score_threshold: scoreThreshold, ...(entities === null ? {} : { entities }) };

  const ask = async (text: string, deadline: AbortSignal): Promise<EntityAnalysis> => {
    const call = {
      method: 'POST',
      path: '/analyze',
      body: { text, ...options },
      purpose: 'analysis',
    } as const;
    const answer = await api.call(call, deadline);
    if (answer.kind === 'failed') {
      const isMalformed = answer.code === 'not_json' || answer.code === 'too_deep';
      const kind = answer.code === 'timeout' ? 'timeout' : isMalformed ? 'malformed' : 'failed';
      return { kind, message: answer.message };
    }
    const found = readEntities(answer.json);
    if (found !== null) return { kind: 'found', entities: found };
    return { kind: 'malformed', message: `Presidio answered no list of entities; check ${configField}.url.` };
  };

  return {
    async analyze(text) {
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), timeoutMs);
      try {
        return await semaphore(() => ask(text, deadline.signal), deadline.signal);
      } catch {
        const wayOut = `raise ${configField}.timeout_ms or .concurrency, or give it more power`;
        return { kind: 'timeout', message: `Presidio did not answer within ${timeoutMs} ms; ${wayOut}.` };
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** Null for anything but a list of finds. */
function readEntities(json: unknown): FoundEntity[] | null {
  if (!Array.isArray(json)) return null;
  const entities: FoundEntity[] = [];
  for (const item of json as unknown[]) {
    if (typeof item !== 'object' || item === null) return null;
    const { entity_type: entityType, start, end, score } = item as Record<string, unknown>;
    if (typeof entityType !== 'string' || typeof start !== 'number' || typeof end !== 'number') return null;
    entities.push({ entityType, start, end, score: typeof score === 'number' ? score : 0 });
  }
  return entities;
}

/** Lets a bounded number of tasks run at a time; others wait for their turn. */
type Semaphore = <T>(task: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** A task whose signal aborts before its turn is never started, and rejects with the reason. */
export function createSemaphore(most: number): Semaphore {
  const waiting = new Set<() => void>();
  let running = 0;

  const takeTurn = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', giveUp);
        running++;
        resolve();
      };
      const giveUp = (): void => {
        waiting.delete(start);
        reject(signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      if (running < most) return start();
      waiting.add(start);
      signal.addEventListener('abort', giveUp, { once: true });
    });

  return async (task, signal) => {
    await takeTurn(signal);
    try {
      return await task();
    } finally {
      running--;
      const [next] = waiting;
      if (next !== undefined) {
        waiting.delete(next);
        next();
      }
    }
  };
}

/**
 * What a service found in a text, or why that is not known: it failed, did not answer in time (or had no turn for it), or
 * answered what cannot be understood.
 */
type EntityAnalysis =
  | { readonly kind: 'found'; readonly entities: readonly FoundEntity[] }
  | {
      readonly kind: 'failed' | 'timeout' | 'malformed';
      /** For the log: names the service and the way out, never the text. */
      readonly message: string;
    };

/** A service that finds names and other personal data in texts. */
export interface EntityAnalyzer {
  /** Resolves within the timeout of the config, waiting for its turn included. Never rejects. */
  analyze(text: string): Promise<EntityAnalysis>;
}
