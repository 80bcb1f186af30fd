import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEmbedderCache } from '../../../src/embedders/cache.ts';
import type { Embedder, EmbedderAnswer } from '../../../src/embedders/embedder.ts';
import { never } from '../../support/json-api.ts';

/** Remembers what it was asked; each call waits until it is let go. */
class HeldEmbedder implements Embedder {
  readonly identity = 'held 1';
  readonly asked: (readonly string[])[] = [];
  readonly stopped: unknown[] = [];
  readonly #releases: ((answer: EmbedderAnswer | null) => void)[] = [];

  async embed(texts: readonly string[], signal: AbortSignal): Promise<EmbedderAnswer> {
    this.asked.push(texts);
    const answer = await new Promise<EmbedderAnswer | null>((resolve, reject) => {
      signal.addEventListener('abort', () => {
        this.stopped.push(texts);
        reject(signal.reason as Error);
      });
      this.#releases.push(resolve);
    });
    return answer ?? { kind: 'vectors', vectors: texts.map(vectorOf), latencyMs: 7 };
  }

  /** Answers the oldest call that waits; null by vectors. */
  answer(answer: EmbedderAnswer | null = null): void {
    this.#releases.shift()?.(answer);
  }
}

const vectorOf = (text: string) => new Float32Array([text.length, text.charCodeAt(0)]);

/** Answers at once. */
function promptEmbedder() {
  const asked: (readonly string[])[] = [];
  const embed: Embedder['embed'] = (texts) => {
    asked.push(texts);
    return Promise.resolve({ kind: 'vectors', vectors: texts.map(vectorOf), latencyMs: 7 });
  };
  return { identity: 'prompt', embed, asked };
}

const failure: EmbedderAnswer = { kind: 'failed', code: 'http_500', message: 'down', latencyMs: 1 };

describe('a cached embedder', () => {
  it('asks for each text once, also when it stands twice in a call', async () => {
    const inner = promptEmbedder();
    const cache = createEmbedderCache(inner, { maxBytes: 10_000 });
    await cache.embed(['a', 'bb', 'a'], never);
    const again = await cache.embed(['ccc', 'a', 'bb'], never);
    expect(again).toMatchObject({ vectors: ['ccc', 'a', 'bb'].map(vectorOf) });
    expect(inner.asked).toEqual([['a', 'bb'], ['ccc']]);
    expect(cache.identity).toBe('prompt');
  });

  it('asks once for a text that is on its way', async () => {
    const inner = new HeldEmbedder();
    const cache = createEmbedderCache(inner, { maxBytes: 10_000 });
    const calls = [cache.embed(['a'], never), cache.embed(['a', 'b'], never), cache.embed(['b'], never)];
    expect(inner.asked).toEqual([['a'], ['b']]);
    inner.answer();
    inner.answer();
    expect(await Promise.all(calls)).toMatchObject([
      { vectors: [vectorOf('a')] },
      { vectors: [vectorOf('a'), vectorOf('b')] },
      { vectors: [vectorOf('b')] },
    ]);
  });

  it('fails all who wait for a call that fails, and keeps nothing of it', async () => {
    const inner = new HeldEmbedder();
    const cache = createEmbedderCache(inner, { maxBytes: 10_000 });
    const calls = [cache.embed(['a'], never), cache.embed(['a'], never)];
    inner.answer(failure);
    expect(await Promise.all(calls)).toMatchObject([failure, failure].map(({ kind }) => ({ kind })));
    const again = cache.embed(['a'], never);
    inner.answer();
    expect(await again).toMatchObject({ kind: 'vectors' });
  });

  it('goes on for the others when one caller aborts, and stops with the last of them', async () => {
    const inner = new HeldEmbedder();
    const cache = createEmbedderCache(inner, { maxBytes: 10_000 });
    const [first, second] = [new AbortController(), new AbortController()];
    const leaving = cache.embed(['a'], first.signal);
    const staying = cache.embed(['a'], second.signal);
    first.abort(new Error('no more patience'));
    await expect(leaving).rejects.toThrow('no more patience');
    expect(inner.stopped).toEqual([]);
    inner.answer();
    expect(await staying).toMatchObject({ kind: 'vectors' });

    const alone = cache.embed(['b'], second.signal);
    second.abort(new Error('me neither'));
    await expect(alone).rejects.toThrow('me neither');
    expect(inner.stopped).toEqual([['b']]);
    const afterwards = cache.embed(['b'], never);
    inner.answer();
    inner.answer();
    expect(await afterwards).toMatchObject({ vectors: [vectorOf('b')] });
  });

  it('lets go of what was used longest ago when its budget is spent', async () => {
    const inner = promptEmbedder();
    // Room for two vectors of two numbers with what comes along with them.
    const cache = createEmbedderCache(inner, { maxBytes: 2 * (200 + 8) });
    for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.embed([text], never);
    expect(inner.asked).toEqual([['a'], ['b'], ['c'], ['b']]);
  });

  it('gives the same vectors as the embedder behind it, whatever its budget', async () => {
    const calls = fc.array(fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 4 }), {
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(calls, fc.nat(1200), async (calls, maxBytes) => {
        const cache = createEmbedderCache(promptEmbedder(), { maxBytes });
        for (const texts of calls) {
          expect(await cache.embed(texts, never)).toMatchObject({ vectors: texts.map(vectorOf) });
        }
      }),
    );
  });
});
