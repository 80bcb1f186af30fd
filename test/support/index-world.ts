/**
 * A pipeline whose manifest and store are set by a test. Index rounds check the pipeline, and store their findings in a
 * real database.
 */

import type { Pool } from 'pg';
import { onTestFinished, vi } from 'vitest';
import { createDb } from '../../src/app/database.ts';
import type { VectorStore } from '../../src/connectors/stores/vector-store.ts';
import type { Context } from '../../src/core/context.ts';
import { checkIndex } from '../../src/index/truth/check-index.ts';
import type { ManifestSource } from '../../src/index/truth/manifest.ts';
import type { IndexPlan } from '../../src/index/truth/plan.ts';
import { createRoundsTable } from '../../src/index/truth/rounds-table.ts';
import type { FindingKind } from '../../src/index/truth/rules/findings.ts';
import { createMeasurements, type LatestMeasurement } from '../../src/measures/measurements.ts';
import { contextOf } from './context.ts';
import { HandClock } from './hand-clock.ts';
import { silentLogger } from './log.ts';
import { type MemoryChunk, MemoryVectorStore } from './memory-vector-store.ts';
import { limitsOfOne } from './throttle.ts';
import { uniforms } from './uniforms.ts';

const MINUTE_MS = 60_000;
const SEED = 1;
export const START = new Date('2026-03-02T12:00:00Z');

/** A line in the manifest. */
export interface Line {
  readonly id: string;
  readonly updated_at?: string;
  readonly hash?: string;
  readonly deleted?: boolean;
  readonly chunks?: number;
  readonly segment?: string;
}

/** Returns the vector that this world's embedder returns for a text. */
export function vectorOf(text: string, model = 0): Float32Array {
  const vector = new Float32Array(16);
  let state = 2166136261 + model;
  for (const character of text) {
    state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16777619);
    vector[(state >>> 8) & 15] = (vector[(state >>> 8) & 15] ?? 0) + (((state >>> 12) & 255) - 127) / 127;
  }
  return vector;
}

export function textOf(id: string): string {
  return `What ${id} says is said here alone, and nowhere else than in ${id}`;
}

export class IndexWorld {
  readonly clock = new HandClock(START);
  readonly store = new MemoryVectorStore([]);
  lines: Line[] = [];
  plan: IndexPlan;
  readonly deps: Context;
  readonly #measurements: ReturnType<typeof createMeasurements>;
  readonly #rounds: ReturnType<typeof createRoundsTable>;

  constructor(pool: Pool, plan: Partial<IndexPlan> = {}) {
    const db = createDb(pool);
    // A 95 % confidence interval misses the true value in one sample of 20, so every test run draws the same samples.
    const random = vi.spyOn(Math, 'random').mockImplementation(uniforms(SEED));
    onTestFinished(() => random.mockRestore());
    this.#measurements = createMeasurements(pool);
    this.#rounds = createRoundsTable(pool);
    this.deps = contextOf({
      db: { ...db, limits: limitsOfOne(this.clock) },
      reads: db,
      clock: this.clock,
      logger: silentLogger,
    });
    this.plan = {
      pipeline: 'docs',
      manifest: this.manifest,
      store: this.store,
      retriever: {
        retrieve: async ({ text, k }) => ({
          kind: 'documents',
          documents: this.store.held
            .filter(({ content }) => content?.startsWith(text) === true)
            .slice(0, k)
            .map(({ id }) => ({ id, score: 1 })),
          latencyMs: 1,
          attempts: 1,
        }),
      },
      embedder: {
        identity: 'world',
        embed: async (texts) => ({ kind: 'vectors', vectors: texts.map((text) => vectorOf(text)), latencyMs: 1 }),
      },
      cron: { expression: '*/15 * * * *', timezone: 'UTC' },
      intervalMs: 15 * MINUTE_MS,
      probe: 200,
      lateAfterMs: 60 * MINUTE_MS,
      callsPerSecond: 1000,
      retrieve: 20,
      embed: 20,
      embedPrefix: '',
      minCosine: 0.98,
      hasVersions: true,
      maxSegments: 50,
      ...plan,
    };
  }

  readonly manifest: ManifestSource = async function* (this: IndexWorld) {
    const lines = this.lines.map((line, place) => ({ file: 'manifest', line: place + 1, text: JSON.stringify(line) }));
    for (let start = 0; start < lines.length; start += 1000)
      yield { lines: lines.slice(start, start + 1000), next: null };
  }.bind(this);

  /** Fills the manifest and the store with year-old documents, each with one chunk. */
  fill(count: number): void {
    const ids = Array.from({ length: count }, (_, place) => `doc-${place}`);
    this.lines = ids.map((id, place) => ({
      id,
      hash: 'v1',
      updated_at: '2025-03-01T00:00:00Z',
      segment: `tenant=${place % 2}`,
    }));
    this.store.hold(ids.map((id) => chunkOf(id)));
  }

  /** Returns a store with the same content that cannot list its ids, but can sample uniformly. */
  withoutList(): VectorStore {
    const { store } = this;
    return {
      kind: 'memory',
      nearest: (request, signal) => store.nearest(request, signal),
      describe: () => store.describe(),
      existing: (ids) => store.existing(ids),
      chunks: (ids) => store.chunks(ids),
      close: () => store.close(),
      list: async () => ({ kind: 'unsupported', reason: 'It lists no ids.' }),
      sample: (request) => store.sample(request),
    };
  }

  async round(after = 15 * MINUTE_MS): Promise<'done' | 'deferred' | 'busy'> {
    this.clock.set(new Date(this.clock.now().getTime() + after));
    return checkIndex(this.deps, this.plan, new AbortController().signal);
  }

  async latest(measure: string, segment = 'all'): Promise<LatestMeasurement | undefined> {
    const all = await this.#measurements.latest(this.clock.now());
    const { pipeline } = this.plan;
    return all.find((one) => one.pipeline === pipeline && one.measure === measure && one.segment === segment);
  }

  /** Returns the latest value with its bounds; null if the latest probe produced no value. */
  async value(measure: string, segment = 'all') {
    const found = await this.latest(measure, segment);
    return found === undefined || found.gap !== null ? null : found.newest;
  }

  async found(kind: FindingKind): Promise<string[]> {
    return (await this.#rounds.findings(this.plan.pipeline, kind, 10_000)).map(({ id }) => id);
  }
}

export function chunkOf(id: string, change: Partial<MemoryChunk> = {}): MemoryChunk {
  return { id, vector: vectorOf(textOf(id)), content: textOf(id), version: 'v1', ...change };
}
