/** The second half of a golden run: ask what has no answer yet, score, judge, end. Idempotent and resumable. */
import { judgeFloor } from '../core/checks/floor.ts';
import { failedShare, type OutcomeCounts, type QueryAnswer } from '../core/golden/run.ts';
import { scoreRun } from '../core/golden/score-run.ts';
import type { GoldenQuery } from '../core/model.ts';
import type { Clock } from '../ports/clock.ts';
import type { GoldenRun, GoldenRuns, RunEnd } from '../ports/golden-runs.ts';
import type { GoldenSets } from '../ports/golden-sets.ts';
import type { Logger } from '../ports/telemetry.ts';
import { askRetriever } from './ask-retriever.ts';
import type { WatchedPipeline } from './watched-pipeline.ts';

const LEASE_SECONDS = 15;
const LEASE_RENEWAL_MS = 4000;
/** Answers are stored in batches of at most this age, so that a crash costs at most this much asking. */
const FLUSH_MS = 500;

export interface RunGoldenSetDeps {
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names this worker in the lease. */
  readonly holder: string;
}

export interface RunProgress {
  readonly answered: number;
  readonly total: number;
}

/** `held_elsewhere`: another worker is at it, or it had ended before. */
export type RunGoldenSetOutcome = 'ended' | 'held_elsewhere';

/**
 * Takes the run over, asks the queries that have no answer, and ends the run. Killed at any line, the next call goes
 * on where the stored answers end. When `signal` aborts the lease is given back and the run stays `running`.
 *
 * @throws the reason of `signal`
 */
export async function runGoldenSet(
  deps: RunGoldenSetDeps,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  signal: AbortSignal,
  onProgress: (progress: RunProgress) => void = () => undefined,
): Promise<RunGoldenSetOutcome> {
  if (!(await deps.runs.hold(run.id, deps.holder, LEASE_SECONDS))) return 'held_elsewhere';
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  try {
    const queries = await deps.sets.queries(run.goldenSet, run.goldenSetVersion);
    const renewal = renewLease(deps, run, stop).catch(() => undefined);
    try {
      await answerQueries(deps, run, pipeline, queries, either, onProgress);
    } finally {
      stop.abort();
      await renewal;
    }
    const end = await conclude(deps, run, pipeline, queries);
    return (await deps.runs.finish(run.id, end)) ? 'ended' : 'held_elsewhere';
  } catch (error) {
    await deps.runs.release(run.id, deps.holder).catch(() => undefined);
    if (stop.signal.aborted && !signal.aborted && stop.signal.reason === LEASE_LOST) return 'held_elsewhere';
    throw error;
  }
}

const LEASE_LOST = new Error('the lease of the run was lost to another worker');

/** Renews until `stop` aborts; when the lease is lost, or the run was cancelled, it is `stop` that it aborts. */
async function renewLease(deps: RunGoldenSetDeps, run: GoldenRun, stop: AbortController): Promise<void> {
  while (!stop.signal.aborted) {
    await deps.clock.sleep(LEASE_RENEWAL_MS, stop.signal);
    const held = await deps.runs.hold(run.id, deps.holder, LEASE_SECONDS).catch((error: unknown) => {
      deps.logger.warn('the lease of a golden run could not be renewed', {
        run_id: run.id,
        reason: String(error),
      });
      return true;
    });
    if (!held) stop.abort(LEASE_LOST);
  }
}

async function answerQueries(
  deps: RunGoldenSetDeps,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  queries: readonly GoldenQuery[],
  signal: AbortSignal,
  onProgress: (progress: RunProgress) => void,
): Promise<void> {
  const before = await deps.runs.answers(run.id);
  const known = new Set(before.map((answer) => answer.queryId));
  const open = queries.filter((query) => !known.has(query.id));
  let answered = queries.length - open.length;
  onProgress({ answered, total: queries.length });

  let unsaved: QueryAnswer[] = [];
  let saving: Promise<void> = Promise.resolve();
  let savedAt = deps.clock.monotonicMs();
  const save = (): Promise<void> => {
    const batch = unsaved;
    unsaved = [];
    savedAt = deps.clock.monotonicMs();
    saving = saving.then(() => deps.runs.saveAnswers(run.id, batch));
    return saving;
  };
  const failed = new AbortController();
  const onAnswer = (answer: QueryAnswer): void => {
    unsaved.push(answer);
    onProgress({ answered: ++answered, total: queries.length });
    if (deps.clock.monotonicMs() - savedAt >= FLUSH_MS) save().catch((error: unknown) => failed.abort(error));
  };
  const retrieverDeps = { retriever: pipeline.retriever, clock: deps.clock };
  try {
    await askRetriever(retrieverDeps, open, run.settings, onAnswer, AbortSignal.any([signal, failed.signal]));
  } finally {
    await save();
  }
}

/** Scores from what is stored, not from what this worker remembers: a resumed run scores the same. */
async function conclude(
  deps: RunGoldenSetDeps,
  run: GoldenRun,
  pipeline: WatchedPipeline,
  queries: readonly GoldenQuery[],
): Promise<RunEnd> {
  const [answers, outcomes] = await Promise.all([deps.runs.answers(run.id), deps.runs.outcomes(run.id)]);
  const voidReason = reasonToVoid(run, outcomes);
  const { scores, segmentsOverflow } =
    voidReason === null ? scoreRun(queries, answers, run.settings) : { scores: [], segmentsOverflow: 0 };
  return {
    status: voidReason === null ? 'completed' : 'void',
    reason: voidReason,
    finishedAt: deps.clock.now(),
    scores,
    checks: pipeline.floors.map((floor) => judgeFloor(floor, run.goldenSet, scores)),
    segmentsOverflow,
  };
}

function reasonToVoid(run: GoldenRun, outcomes: OutcomeCounts): string | null {
  const share = failedShare(outcomes);
  if (run.settings.onError !== 'void' || share <= run.settings.errorBudget) return null;
  return `${percent(share)} of the queries failed, more than the error budget of ${percent(run.settings.errorBudget)}.`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
