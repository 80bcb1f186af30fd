import { describe, expect, it } from 'vitest';
import type { Embedder } from '../../../../src/connectors/embedders/embedder.ts';
import { measureGoldenRepresentativeness } from '../../../../src/golden/sets/live-mix.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenDocuments, createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import type { DrawnSample } from '../../../../src/live/sql/live-samples.ts';
import { createMeasurements } from '../../../../src/measures/measurements.ts';
import {
  aGoldenQuery,
  aNewGoldenSet,
  anAnswer,
  aRunSettings,
  aWatchedPipeline,
  NOON,
} from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, aRun } from '../../../support/golden-runs.ts';
import { silentLogger as logger } from '../../../support/log.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const never = new AbortController().signal;

/** Strings that begin with the same topic, such as `pay 3` and `pay 7`, get similar vectors. */
function vectorOf(text: string): Float32Array {
  const [topic = '', number = '0'] = text.split(' ');
  const axis = ['pay', 'ship', 'login'].indexOf(topic);
  return Float32Array.from({ length: 4 }, (_, i) => (i === axis ? 1 : 0.01 * ((Number(number) * (i + 3)) % 7)));
}
const embedder: Embedder = {
  identity: 'topics',
  embed: async (texts) => ({ kind: 'vectors', vectors: texts.map(vectorOf), latencyMs: 1 }),
};
const live = (topic: string, count: number, probability: number): DrawnSample[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `${topic} ${i}`,
    text: `${topic} ${i}`,
    embedding: null,
    probability,
    sessionHash: `${topic} ${i}`,
  }));

const database = useDatabase();
let pipelines = 0;

async function measure(samples: readonly DrawnSample[], parts: Parameters<typeof aWatchedPipeline>[0] = {}) {
  const clock = new SteerableClock();
  const sets = createGoldenSets(database.pool);
  const runs = createGoldenRuns(database.pool);
  const measurements = createMeasurements(database.pool);
  const queries = ['pay', 'ship'].flatMap((topic) =>
    Array.from({ length: 10 }, (_, i) =>
      aGoldenQuery({
        id: `${topic}${i}`,
        text: `${topic} ${i}`,
        judgments: [{ documentId: topic, grade: 1 }],
      }),
    ),
  );
  await sets.add(aNewGoldenSet({ name: 'faq', queries }), NOON);
  const name = `docs ${(pipelines += 1)}`;
  const run = aRun({ pipeline: name, settings: aRunSettings() });
  await runs.create(run);
  // The results are right for every query about paying, and wrong for all others.
  await runs.saveAnswers(
    run.id,
    queries.map(({ id }) => anAnswer({ queryId: id, documents: [{ id: 'pay', score: 1 }] })),
  );
  await runs.finish(run.id, anEnd());
  const documents = createGoldenDocuments(database.pool);
  const deps = contextOf({
    db: { golden: { sets, runs, documents }, measurements, live: { samples: { draw: async () => samples } } },
    clock,
    logger,
  });
  await measureGoldenRepresentativeness(deps, aWatchedPipeline({ embedder, ...parts, name }), never);
  const latest = await measurements.latest(clock.now());
  return new Map(latest.filter(({ pipeline }) => pipeline === name).map((one) => [one.measure, one]));
}

describe('the golden scores weighted by the mix of live traffic', () => {
  it('weight golden queries by the live traffic that the samples represent', async () => {
    // The 25 samples about shipping, at a sampling rate of a tenth, represent 250 queries; 50 queries are about paying.
    const latest = await measure([...live('pay', 50, 1), ...live('ship', 25, 0.1)]);
    const score = latest.get('golden_live_mix_ndcg')?.newest;
    expect(score?.value).toBeCloseTo(50 / 300, 6);
    expect(score?.segment ?? latest.get('golden_live_mix_ndcg')?.segment).toBe('golden_set=faq');
    expect(score?.n).toBeLessThan(20);
    expect(score?.details).toMatchObject({ metric: 'ndcg@10', represented: 1 });
  });

  it('come with the share of live traffic that the set covers', async () => {
    const latest = await measure([...live('pay', 50, 1), ...live('login', 50, 1)]);
    const covered = latest.get('golden_representativeness')?.newest;
    expect(covered?.value).toBeLessThanOrEqual(0.5);
    expect(covered?.n).toBe(100);
  });

  it('come with a reason instead of that share without live queries or an embedder', async () => {
    expect((await measure([])).get('golden_representativeness')?.gap).toMatchObject({ reason: 'no_vectors' });
    const without = await measure(live('pay', 5, 1), { embedder: null });
    expect(without.get('golden_representativeness')?.gap).toMatchObject({ reason: 'no_embedder' });
  });
});
