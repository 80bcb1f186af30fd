/** Pins the runs that others are compared with, with how much their retriever differs by itself. */
import { RecalldError } from '../../errors.ts';
import { judgedQueries } from '../rules/golden-set.ts';
import type { GoldenRun, QueryAnswer } from '../rules/run.ts';
import type { Reruns } from '../rules/run-noise.ts';
import type { GoldenBaseline } from '../sql/golden-baselines.ts';
import type { CompareDeps, GoldenStore, StoredRuns } from './stored-runs.ts';

export interface PinReport {
  readonly baseline: GoldenBaseline;
  /** Runs by which the noise was measured. */
  readonly runs: number;
  readonly isDeterministic: boolean;
}

/**
 * Pins a completed run with the noise of its retriever.
 *
 * @param reruns runs that asked the same again; null takes those right before it that did
 * @param by who pins it
 */
export async function pinRun(
  store: GoldenStore,
  run: GoldenRun,
  note: string | null,
  reruns: readonly GoldenRun[] | null,
  by: string,
  now: Date,
  signal: AbortSignal,
): Promise<PinReport> {
  const { id: runId, pipeline, goldenSet } = run;
  const measured = [run, ...(reruns ?? (await earlierReruns(store, run)))];
  const { noise, means } = await measureNoise(store, measured, signal);
  const pin = { pipeline, goldenSet, runId, note, noise, pinnedAt: now };
  await store.baselines.pin(pin, by, means);
  const isDeterministic = Object.values(noise).every((metrics) =>
    Object.values(metrics).every(({ isStill }) => isStill),
  );
  return { baseline: { ...pin, unpinnedAt: null }, runs: measured.length, isDeterministic };
}

/** @throws RecalldError baseline_unknown when none is pinned */
export async function unpin(
  { baselines }: Pick<GoldenStore, 'baselines'>,
  pipeline: string,
  set: string,
  by: string,
  now: Date,
): Promise<void> {
  if (!(await baselines.unpin(pipeline, set, by, now))) {
    throw new RecalldError(
      'baseline_unknown',
      `No baseline is pinned for ${set} on ${pipeline}; \`recalld baselines list\` shows those that are.`,
    );
  }
}

/** With the pinned one ten, by which the check is calibrated; more would only make pinning slow. */
const MAX_EARLIER_RUNS = 9;

/**
 * @param runs of one version of one set; fewer than two tell nothing
 * @returns no noise and no means when nothing is known
 */
async function measureNoise(
  { sets, runs: store, statistics }: CompareDeps,
  runs: readonly GoldenRun[],
  signal: AbortSignal,
): Promise<Reruns> {
  const [first] = runs;
  if (first === undefined || runs.length < 2) return { noise: {}, means: null };
  const queries = judgedQueries(await sets.queries(first.goldenSet, first.goldenSetVersion));
  const answers: (readonly QueryAnswer[])[] = [];
  for (const { id } of runs) answers.push(await store.answers(id));
  return statistics.measureReruns(queries, answers, first.settings, signal);
}

/** Completed runs right before this one that asked the same questions of the same store and model. */
async function earlierReruns({ runs }: Pick<StoredRuns, 'runs'>, run: GoldenRun): Promise<GoldenRun[]> {
  const { pipeline, goldenSet } = run;
  const before = await runs.list({
    pipeline,
    goldenSet,
    status: 'completed',
    before: run,
    limit: MAX_EARLIER_RUNS,
  });
  const other = before.findIndex((one) => !isSameSetting(one, run));
  return other === -1 ? [...before] : before.slice(0, other);
}

function isSameSetting(a: GoldenRun, b: GoldenRun): boolean {
  return (
    a.goldenSetVersion === b.goldenSetVersion &&
    JSON.stringify(a.settings.cutoffs) === JSON.stringify(b.settings.cutoffs) &&
    a.settings.relevanceLevel === b.settings.relevanceLevel &&
    ['index', 'embedder'].every((part) => a.fingerprints[part] === b.fingerprints[part])
  );
}
