/** Spares an embedding model the texts that it has just seen. */
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Embedder, EmbedderAnswer } from './embedder.ts';

export interface EmbedderCacheSettings {
  /** Most bytes that vectors and their keys may take; what was used longest ago goes first. */
  readonly maxBytes: number;
}

/** What an entry takes beside the numbers of its vector: key, places in the map, object headers. */
const ENTRY_BYTES = 200;

/** One request that is under way, for all who wait for texts in it. */
interface Flight {
  readonly answer: Promise<EmbedderAnswer>;
  readonly places: ReadonlyMap<string, number>;
  readonly stop: AbortController;
  waiting: number;
  hasLanded: boolean;
}

/**
 * Keeps vectors by the SHA-256 of their text, never the text itself. Texts that are asked for while they are on their
 * way are waited for and not sent again; a call that fails, fails for all who wait for it, and nothing of it is kept.
 * When one caller aborts, the request goes on for the others, and ends with the last of them.
 *
 * The vectors are shared: callers must not write to them. `latencyMs` is the time that the caller waited. It must not
 * stand before a retriever or a canary: both are there to notice that the model answers otherwise than before.
 */
export function createEmbedderCache(inner: Embedder, { maxBytes }: EmbedderCacheSettings): Embedder {
  const kept = new Map<string, Float32Array>();
  const flights = new Map<string, Flight>();
  let bytes = 0;

  const keep = (key: string, vector: Float32Array): void => {
    if (kept.has(key)) return;
    kept.set(key, vector);
    bytes += ENTRY_BYTES + vector.byteLength;
    for (const [oldest, { byteLength }] of kept) {
      if (bytes <= maxBytes) return;
      kept.delete(oldest);
      bytes -= ENTRY_BYTES + byteLength;
    }
  };

  const use = (key: string): Float32Array | undefined => {
    const vector = kept.get(key);
    if (vector === undefined) return undefined;
    // A map keeps the order of insertion, so the entry that was just used goes to the end.
    kept.delete(key);
    kept.set(key, vector);
    return vector;
  };

  const start = (missing: ReadonlyMap<string, string>): Flight => {
    const stop = new AbortController();
    const keys = [...missing.keys()];
    const land = (answer: EmbedderAnswer): EmbedderAnswer => {
      flight.hasLanded = true;
      if (answer.kind === 'vectors') {
        for (const [index, key] of keys.entries()) {
          const vector = answer.vectors[index];
          if (vector !== undefined) keep(key, vector);
        }
      }
      return answer;
    };
    const answer = inner
      .embed([...missing.values()], stop.signal)
      .then(land)
      .finally(() => {
        for (const key of keys) if (flights.get(key)?.stop === stop) flights.delete(key);
      });
    // Everyone may have gone when it is stopped.
    answer.catch(() => undefined);
    const places = new Map(keys.map((key, index) => [key, index]));
    const flight: Flight = { answer, places, stop, waiting: 0, hasLanded: false };
    for (const key of keys) flights.set(key, flight);
    return flight;
  };

  return {
    identity: inner.identity,
    async embed(texts, signal) {
      signal.throwIfAborted();
      const startedMs = performance.now();
      const keys = texts.map(hashOf);
      const found = new Map<string, Float32Array>();
      const missing = new Map<string, string>();
      const joined = new Set<Flight>();
      for (const [index, key] of keys.entries()) {
        const vector = use(key);
        const flight = flights.get(key);
        if (vector !== undefined) found.set(key, vector);
        else if (flight !== undefined && !flight.stop.signal.aborted) joined.add(flight);
        else missing.set(key, texts[index] ?? '');
      }
      if (missing.size > 0) joined.add(start(missing));
      const answers = await Promise.all([...joined].map((flight) => waitFor(flight, signal)));
      const latencyMs = performance.now() - startedMs;
      for (const [index, flight] of [...joined].entries()) {
        const answer = answers[index];
        if (answer?.kind === 'failed') return { ...answer, latencyMs };
        for (const [key, place] of flight.places) {
          const vector = answer?.vectors[place];
          if (vector !== undefined) found.set(key, vector);
        }
      }
      const vectors = keys.map((key) => found.get(key) ?? new Float32Array());
      return { kind: 'vectors', vectors, latencyMs };
    },
    close: async () => inner.close?.(),
  };
}

/** Waits for the flight or for the abort of this caller; the last one to leave stops it. */
async function waitFor(flight: Flight, signal: AbortSignal): Promise<EmbedderAnswer> {
  flight.waiting += 1;
  const settled = new AbortController();
  // One signal serves many calls at once.
  setMaxListeners(0, signal);
  try {
    return await new Promise<EmbedderAnswer>((resolve, reject) => {
      const leave = () => reject(signal.reason as Error);
      signal.addEventListener('abort', leave, { once: true, signal: settled.signal });
      flight.answer.then(resolve, reject);
    });
  } finally {
    settled.abort();
    flight.waiting -= 1;
    if (flight.waiting === 0 && !flight.hasLanded) {
      flight.stop.abort(new Error('nobody waits for the vectors any more'));
    }
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
