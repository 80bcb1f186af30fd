/** Pinning and unpinning of baselines by a person. */
import { RecalldError } from '../../errors.ts';
import type { GoldenRun } from '../../golden/rules/run.ts';
import { earlierReruns, measureRerunNoise } from '../../golden/runs/measure-rerun-noise.ts';
import type { RunProgress } from '../../golden/runs/run-golden-set.ts';
import type { GoldenBaseline } from '../../golden/sql/golden-baselines.ts';
import { type CommandSettings, type GoldenStore, withCommandStore } from './command-store.ts';
import { runGoldenSetNow } from './golden-run.ts';

export interface PinRequest {
  readonly runId: string;
  readonly note: string | null;
  /** How often the retriever is asked again first. */
  readonly reruns: number;
}

export interface PinReport {
  readonly baseline: GoldenBaseline;
  /** Runs by which the noise was measured. */
  readonly runs: number;
  readonly isDeterministic: boolean;
}

/** @throws RecalldError run_unknown, run_not_completed, and what a golden run throws */
export function pinBaseline(
  settings: CommandSettings,
  { runId, note, reruns }: PinRequest,
  onProgress: (progress: RunProgress) => void,
): Promise<PinReport> {
  return withCommandStore(settings, async (store) => {
    const run = await findCompleted(store, runId);
    const { pipeline, goldenSet } = run;
    const again: GoldenRun[] = [];
    for (let count = 0; count < reruns; count += 1) {
      again.push(await runGoldenSetNow(settings, store, { pipeline, set: goldenSet }, onProgress));
    }
    const usable = again.filter(
      (one) => one.status === 'completed' && one.goldenSetVersion === run.goldenSetVersion,
    );
    return pinRun(store, run, note, reruns > 0 ? usable : null, new Date(), settings.signal);
  });
}

/**
 * Pins a completed run with the noise of its retriever.
 *
 * @param reruns runs that asked the same again; null takes those right before it that did
 */
export async function pinRun(
  store: GoldenStore,
  run: GoldenRun,
  note: string | null,
  reruns: readonly GoldenRun[] | null,
  now: Date,
  signal: AbortSignal,
): Promise<PinReport> {
  const { id: runId, pipeline, goldenSet } = run;
  const measured = [run, ...(reruns ?? (await earlierReruns(store, run)))];
  const noise = await measureRerunNoise(store, measured, signal);
  const pin = { pipeline, goldenSet, runId, note, noise, pinnedAt: now };
  await store.baselines.pin(pin);
  const isDeterministic = Object.values(noise).every((metrics) =>
    Object.values(metrics).every(({ standardDeviation }) => standardDeviation === 0),
  );
  return { baseline: { ...pin, unpinnedAt: null }, runs: measured.length, isDeterministic };
}

/** @throws RecalldError baseline_unknown when none is pinned */
export function unpinBaseline(settings: CommandSettings, pipeline: string, set: string): Promise<void> {
  return withCommandStore(settings, (store) => unpin(store, pipeline, set, new Date()));
}

/** @throws RecalldError baseline_unknown when none is pinned */
export async function unpin(
  { baselines }: Pick<GoldenStore, 'baselines'>,
  pipeline: string,
  set: string,
  now: Date,
): Promise<void> {
  if (!(await baselines.unpin(pipeline, set, now))) {
    throw new RecalldError(
      'baseline_unknown',
      `No baseline is pinned for ${set} on ${pipeline}; \`recalld baselines list\` shows those that are.`,
    );
  }
}

export function listBaselines(
  settings: CommandSettings,
  filter: { readonly pipeline?: string; readonly limit: number },
): Promise<readonly GoldenBaseline[]> {
  return withCommandStore(settings, ({ baselines }) => baselines.list(filter));
}

/** @throws RecalldError run_unknown, run_not_completed */
export async function findCompleted({ runs }: Pick<GoldenStore, 'runs'>, id: string): Promise<GoldenRun> {
  const run = await runs.find(id);
  if (run === null) {
    const message = `There is no golden run ${id}; \`recalld runs list\` shows those that exist.`;
    throw new RecalldError('run_unknown', message);
  }
  if (run.status !== 'completed') {
    const message = `The run ${id} is ${run.status}; only a completed run has scores to compare with.`;
    throw new RecalldError('run_not_completed', message);
  }
  return run;
}
