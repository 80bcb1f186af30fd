import { describe, expect, it } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import type { Embedder } from '../../../../src/connectors/embedders/embedder.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import { type AnsweredQuery, compareWithStore } from '../../../../src/index/probes/compare-with-store.ts';
import { aWatchedPipeline, NOON } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { failed, neighbours, ok, scriptedStore } from '../../../support/scripted-store.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const database = useDatabase();
const never = new AbortController().signal;
let pipelines = 0;

/** Each text is a number, which is the only coordinate of the text's vector. */
const embedder: Embedder = {
  identity: 'openai/small',
  embed: async (texts) => ({
    kind: 'vectors',
    latencyMs: 1,
    vectors: texts.map((text) => Float32Array.of(Number(text))),
  }),
};

/** A search for query n returns the documents `n-0`, `n-1`, and so on, nearest first. */
const nearby: VectorStore = scriptedStore({
  nearest: ({ vector, k }) =>
    ok(neighbours(...Array.from({ length: k }, (_, rank) => [`${vector[0]}-${rank}`, 1 - rank / 100] as const))),
  chunks: (ids) => ok(ids.map((id) => ({ id, version: null, content: id.split('-')[0] ?? null }))),
  existing: (ids) => ok(new Set(ids)),
});

const answers = (
  ranks: readonly number[],
  missed: readonly string[] = [],
  low: readonly string[] = [],
): AnsweredQuery[] =>
  Array.from({ length: 10 }, (_, query) => ({
    id: `q${query}`,
    text: String(query),
    documents: ranks.map((rank) => `${query}-${rank}`),
    missed: query === 0 ? missed : [],
    low: query === 1 ? low : [],
  }));

async function compared(
  answered: readonly AnsweredQuery[],
  {
    texts = {},
    ...parts
  }: { store?: VectorStore; embedder?: Embedder | null; texts?: Readonly<Record<string, string>> } = {},
) {
  const clock = new SteerableClock();
  const name = `docs-${(pipelines += 1)}`;
  const db = createDb(database.pool);
  const context = contextOf({ db, clock, indexPlans: [] });
  const pipeline = aWatchedPipeline({ name, store: nearby, embedder, ...parts });
  const earlierTexts = async (ids: readonly string[]) =>
    new Map(Object.entries(texts).filter(([id]) => ids.includes(id)));
  await compareWithStore(context, pipeline, { id: 'run-1', finishedAt: NOON, answered, earlierTexts }, never);
  const latest = (await db.measurements.latest(clock.now())).filter((one) => one.pipeline === name);
  return (measure: string) => latest.find((one) => one.measure === measure);
}

describe('the comparison of golden results with the store', () => {
  it('is 1 for a retriever that returns what the store finds nearest', async () => {
    const latest = await compared(answers([0, 1, 2, 3]));
    expect(latest('store_agreement')?.newest).toMatchObject({
      value: 1,
      n: 10,
      details: { deep: 1, run_id: 'run-1' },
      windowEnd: NOON,
    });
  });

  it('distinguishes documents that are among the next nearest from distant ones', async () => {
    const near = await compared(answers([0, 1, 10, 11]));
    expect(near('store_agreement')?.newest).toMatchObject({ value: 0.5, details: { deep: 1 } });
    const far = await compared(answers([0, 1, 98, 99]));
    expect(far('store_agreement')?.newest).toMatchObject({ value: 0.5, details: { deep: 0.5 } });
  });

  it('counts missed documents that a search for their own text does not return', async () => {
    const latest = await compared(answers([0, 1], ['0-5', '1-12', '2-30']));
    expect(latest('missed_foreign_ratio')?.newest).toMatchObject({ value: 1, n: 3 });
    const own = await compared(answers([5, 6], ['0-0', '1-0', '2-0']));
    expect(own('missed_foreign_ratio')?.newest).toMatchObject({ value: 0, n: 3 });
  });

  it('counts missed and low documents whose text changed, and those that have only a part of their earlier text', async () => {
    const missed = answers([5, 6], ['0-0', '1-0'], ['2-0', '3-0']);
    const latest = await compared(missed, { texts: { '0-0': '0', '1-0': 'was 1 before', '2-0': 'other', '9-9': '9' } });
    expect(latest('missed_changed_ratio')?.newest).toMatchObject({ value: 2 / 3, n: 3, details: { cut: 1 } });
    expect((await compared(missed))('missed_changed_ratio')?.gap).toMatchObject({ reason: 'none_missed' });
  });

  it('counts returned documents that the store does not have, even without an embedder', async () => {
    const store = scriptedStore({ existing: (ids) => ok(new Set(ids.filter((id) => !id.startsWith('3')))) });
    const latest = await compared(answers([0, 1]), { store });
    expect(latest('returned_absent_ratio')?.newest).toMatchObject({ value: 0.1, n: 20, details: { run_id: 'run-1' } });
    const alone = await compared(answers([0, 1]), { embedder: null });
    expect(alone('returned_absent_ratio')?.newest).toMatchObject({ value: 0, n: 20 });
    expect(alone('store_agreement')).toBeUndefined();
  });

  it.each([
    ['too_few_answers', answers([0]).slice(0, 4), {}],
    ['store_failed', answers([0]), { store: scriptedStore({ nearest: () => failed('down') }) }],
    ['unsupported', answers([0]), { store: scriptedStore({}) }],
    [
      'embedder_failed',
      answers([0]),
      {
        embedder: {
          identity: 'openai/small',
          embed: async () => ({ kind: 'failed', code: 'http_503', message: 'It answered 503.', latencyMs: 1 }) as const,
        },
      },
    ],
  ] as const)('is unknown with the reason %s', async (reason, answered, parts) => {
    const latest = await compared(answered, parts);
    expect(latest('store_agreement')?.gap).toMatchObject({ reason });
  });
});
