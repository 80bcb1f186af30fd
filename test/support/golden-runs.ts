/** Complete and plausible golden runs; a test sets only the fields that it depends on. */

import type { RunDifference } from '../../src/golden/rules/compare-golden-runs.ts';
import type { GoldenRun, NewRun, QueryAnswer } from '../../src/golden/rules/run.ts';
import type { GoldenRuns } from '../../src/golden/sql/golden-runs.ts';
import type { GoldenSets } from '../../src/golden/sql/golden-sets.ts';
import type { RunEnd } from '../../src/golden/sql/run-results.ts';
import { aGoldenQuery, aNewGoldenSet, aRunSettings, aScore } from './builders.ts';

export const nine = new Date('2026-11-16T09:00:00.000Z');
export const minutes = (count: number): Date => new Date(nine.getTime() + count * 60_000);

export const ndcg = aScore({ mean: 0.8125, ciLow: 0.75, ciHigh: 0.875 });

export const floor = {
  name: 'ndcg@10 below 0.8 on faq',
  severity: 'critical',
  verdict: 'ok',
  value: 0.8125,
  ciLow: 0.75,
  ciHigh: 0.875,
  n: 160,
  isBeyond: false,
  smallestDetectableDrop: null,
  threshold: 0.8,
  explanation: 'ndcg@10 is 0.8125, not below 0.8000.',
} as const;

let made = 0;

export function aRun(run: Partial<NewRun> = {}): NewRun {
  return {
    id: `run-${(made += 1)}`,
    pipeline: 'docs',
    goldenSet: 'faq',
    goldenSetVersion: 1,
    purpose: 'full',
    trigger: 'manual',
    cause: null,
    queryIds: null,
    scheduledFor: null,
    settings: aRunSettings({ segmentKeys: ['language'], maxPerSecond: 0.5 }),
    startedAt: nine,
    deadlineAt: minutes(10),
    ...run,
  };
}

export function anEnd(end: Partial<RunEnd> = {}): RunEnd {
  return {
    status: 'completed',
    reason: null,
    warnings: [],
    finishedAt: minutes(2),
    scores: [ndcg],
    checks: [floor],
    segmentsOverflow: 0,
    labels: null,
    forbidden: null,
    noAnswer: null,
    stages: null,
    fingerprints: {},
    comparisons: [],
    ...end,
  };
}

export interface GoldenStores {
  readonly runs: GoldenRuns;
  /** Contains the set versions to which the runs belong. */
  readonly sets: GoldenSets;
}

/** Imports the set of a run unless the set exists. */
export async function importSet({ sets }: GoldenStores, name: string): Promise<void> {
  await sets.add(aNewGoldenSet({ name, queries: [aGoldenQuery()] }), nine);
}

/** Creates a run, and imports its set if the set does not exist. */
export async function createRun(stores: GoldenStores, run: Partial<NewRun> = {}): Promise<NewRun> {
  const made = aRun(run);
  await importSet(stores, made.goldenSet);
  if (!(await stores.runs.create(made))) throw new Error(`the tick of ${made.id} has a run`);
  return made;
}

/** Stores a run with its results, and ends the run if `end` is given. */
export async function putRun(
  stores: GoldenStores,
  run: Partial<NewRun> = {},
  { answers = [], end = null }: { readonly answers?: readonly QueryAnswer[]; readonly end?: RunEnd | null } = {},
): Promise<GoldenRun> {
  const { id } = await createRun(stores, run);
  await stores.runs.saveAnswers(id, answers);
  if (end !== null) await stores.runs.finish(id, end);
  const stored = await stores.runs.find(id);
  if (stored === null) throw new Error(`the run ${id} is gone`);
  return stored;
}

/** Returns a comparison in which nDCG@10 over all queries dropped by 0.05. */
export function aDifference(parts: Partial<RunDifference> = {}): RunDifference {
  return {
    key: { measure: 'ndcg', k: 10 },
    measure: 'ndcg',
    segment: 'all',
    n: 40,
    excluded: 2,
    baseline: 0.8,
    candidate: 0.75,
    difference: -0.05,
    ciLow: -0.09,
    ciHigh: -0.01,
    ciMethod: 't',
    t: -2.5,
    df: 39,
    pT: 0.0167,
    pRandomization: 0.018,
    pMethod: 'exact',
    mcnemarP: null,
    p: 0.018,
    wins: 3,
    losses: 9,
    ties: 28,
    standardDeviation: 0.125,
    smallestDetectableDifference: 0.057,
    verdict: 'inconclusive',
    ...parts,
  };
}
