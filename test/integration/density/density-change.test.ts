/** If the embedder or store of query density changes, recalld builds a new baseline and fires no alert. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Embedder } from '../../../src/connectors/embedders/embedder.ts';
import { probeConnectors } from '../../../src/density/observe-change.ts';
import type { LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { useDatabase } from '../../support/database.ts';
import { evenly, HOUR, WatchedStream } from '../../support/watched-stream.ts';

const COVERED = evenly([0, 1, 2, 3, 4, 5]);
const SOON = { windowMs: 4 * HOUR, needs: { days: 3, sessions: 600 } } as const;

/** Converts a text back into the vector from which it was created; a different model also rotates that vector. */
class TextEmbedder implements Embedder {
  identity = 'first model';
  turn: (vector: Float32Array) => Float32Array = (vector) => vector;
  readonly known = new Map<string, Float32Array>();

  async embed(texts: readonly string[]) {
    const vectors = texts.map((text) =>
      this.turn(
        this.known.get(text) ??
          Float32Array.from({ length: 24 }, (_, i) => (text.codePointAt(i % text.length) ?? 1) / 100),
      ),
    );
    return { kind: 'vectors', vectors, latencyMs: 1 } as const;
  }
}

/** Sends texts without vectors. */
class TextStream extends WatchedStream {
  readonly embedder: TextEmbedder;

  constructor(pool: ReturnType<typeof useDatabase>['pool']) {
    const embedder = new TextEmbedder();
    super(pool, { ...SOON, embedder });
    this.embedder = embedder;
  }

  override samples(...request: Parameters<WatchedStream['samples']>): LiveSample[] {
    return super.samples(...request).map((sample) => {
      const text = `question ${sample.id}`;
      if (sample.embedding !== null) this.embedder.known.set(text, sample.embedding);
      return { ...sample, text, embedding: null };
    });
  }
}

const backwards = (vector: Float32Array) => vector.toReversed();

describe('another embedding model', () => {
  const database = useDatabase();
  let stream: TextStream;
  beforeAll(async () => {
    stream = new TextStream(database.pool);
    await stream.run(3 * 24 + 8, 12, COVERED, 4);
  }, 120_000);
  afterAll(() => stream.close());

  it('rebuilds the baseline from replayed baseline queries and does not page', async () => {
    expect((await stream.events()).map(({ kind }) => kind)).toEqual(['rebaseline']);
    stream.embedder.identity = 'second model';
    stream.embedder.turn = backwards;
    stream.store.hold(stream.store.held.map((chunk) => ({ ...chunk, vector: backwards(chunk.vector) })));
    await stream.run(16, 12, COVERED, 4);

    const [, reset, again, ...rest] = await stream.events();
    expect(reset).toMatchObject({ kind: 'reset', details: { changed: ['embeddingModel'] } });
    expect(again).toMatchObject({ kind: 'rebaseline', details: { baseline: 2, grade: 'page' } });
    // The new model is as good as the old one.
    const { density_before: before, density_after: after } = again?.details ?? {};
    expect(Number(after) / Number(before)).toBeCloseTo(1, 2);
    expect(rest).toEqual([]);
    expect((await stream.deps.db.density.watch.find('docs'))?.state.phase).toMatchObject({
      kind: 'watching',
      baselineVersion: 2,
    });
  }, 120_000);

  it('still pages for content that is lost afterwards', async () => {
    const remaining = stream.store.held.filter(({ id }) => !id.startsWith('chunk 3.') && !id.startsWith('chunk 4.'));
    stream.store.hold(remaining);
    await stream.run(24, 24, COVERED, 4);
    const pages = (await stream.events()).filter(({ kind }) => kind === 'page');
    expect(pages.map(({ details }) => details['cause'])).toEqual(['lost_content']);
  }, 120_000);
});

describe('another index of the same model', () => {
  const database = useDatabase();
  let stream: WatchedStream;
  beforeAll(async () => {
    stream = new WatchedStream(database.pool, SOON);
    await stream.run(3 * 24 + 8, 12, COVERED, 4);
  }, 120_000);
  afterAll(() => stream.close());

  it('keeps the baseline if the baseline queries find the same chunks', async () => {
    stream.store.traits = { index: 'hnsw' };
    await stream.run(8, 12, COVERED, 4);
    const [, kept, ...rest] = await stream.events();
    expect(kept).toMatchObject({
      kind: 'reset',
      details: { kept: true, mean_overlap: 1, mean_score_change: 0 },
    });
    expect(rest).toEqual([]);
    expect((await stream.deps.db.density.watch.find('docs'))?.state.phase).toMatchObject({ baselineVersion: 1 });
  }, 60_000);

  it('pauses the evaluation while the store does not respond', async () => {
    const before = (await stream.deps.db.density.watch.find('docs'))?.state.closedMs;
    stream.store.traits = { index: 'ivf' };
    const now = stream.clock.now();
    stream.clock.set(new Date(now.getTime() + HOUR));
    await probeConnectors({ context: stream.deps, plan: stream.plan, signal: new AbortController().signal });
    stream.clock.set(now);
    stream.store.failure = 'it is down';
    await stream.run(8, 12, COVERED, 4);
    expect((await stream.deps.db.density.watch.find('docs'))?.state.closedMs).toBe(before);
    stream.store.failure = null;
    await stream.run(4, 12, COVERED, 4);
    expect((await stream.events()).at(-1)).toMatchObject({ kind: 'reset', details: { kept: true } });
    expect((await stream.deps.db.density.watch.find('docs'))?.state.closedMs).toBeGreaterThan(before ?? 0);
  }, 60_000);

  it('rebuilds the baseline if the baseline queries find other chunks', async () => {
    stream.store.traits = { index: 'lossy' };
    stream.store.hold(stream.store.held.filter((_, i) => i % 2 === 0));
    await stream.run(12, 12, COVERED, 4);
    const kinds = (await stream.events()).slice(3).map(({ kind }) => kind);
    expect(kinds).toEqual(['reset', 'rebaseline']);
    const price = (await stream.events()).at(-1)?.details;
    expect(Number(price?.['density_after'])).toBeLessThan(Number(price?.['density_before']));
  }, 60_000);
});
