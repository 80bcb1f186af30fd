/** When golden runs are due, what became of their ticks, where their sentinels stand: known without any scheduler. */
import { runDeadlineMs } from '../../core/golden/run.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GoldenRotation, GoldenRotations } from '../../ports/golden-rotations.ts';
import type { GoldenRuns, LatestRun, LatestSentinel } from '../../ports/golden-runs.ts';
import type { GoldenSets, GoldenSetVersion } from '../../ports/golden-sets.ts';
import { type GoldenTicks, skipReasons } from '../../ports/golden-ticks.ts';
import { type GaugeSample, sample } from '../../ports/metrics.ts';
import { overlappingRuns } from '../golden-runs/rotate-golden-set.ts';
import type { GoldenSchedule, WatchedPipeline } from '../watched-pipeline.ts';

/** When the runs of a schedule are planned, its quiet hours left out. */
export interface Timetable {
  /** When this process began to look. */
  readonly startedAt: Date;
  /** Longest gap between two full runs; null for a set that runs by hand. */
  intervalSeconds(golden: GoldenSchedule): number | null;
  sentinelIntervalSeconds(golden: GoldenSchedule): number | null;
  /** Null for a set that runs by hand, or when every tick is quiet. */
  nextRun(golden: GoldenSchedule, after: Date): Date | null;
  nextSentinel(golden: GoldenSchedule, after: Date): Date | null;
}

export interface PublishScheduleDeps {
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  readonly rotations: GoldenRotations;
  readonly ticks: GoldenTicks;
  readonly clock: Clock;
  readonly pipelines: readonly WatchedPipeline[];
  readonly timetable: Timetable;
}

const DAY_MS = 86_400_000;
/** A sentinel that is older than so many of its intervals says nothing any more. */
const INTERVALS_TO_TRUST = 3;

/** @param latest of full runs */
export async function readScheduleGauges(
  deps: PublishScheduleDeps,
  latest: readonly LatestRun[],
): Promise<GaugeSample[]> {
  const now = deps.clock.now();
  const [versions, sentinels, skips, rotations] = await Promise.all([
    deps.sets.list(),
    deps.runs.latestSentinels(),
    deps.ticks.skips(new Date(now.getTime() - DAY_MS)),
    deps.rotations.list({}),
  ]);
  const open = rotations.filter(({ endedAt }) => endedAt === null);
  const perSet = deps.pipelines.flatMap((pipeline) =>
    pipeline.golden.map(async (golden): Promise<GaugeSample[]> => {
      const isOwn = (one: { readonly pipeline: string; readonly goldenSet: string }): boolean =>
        one.pipeline === pipeline.name && one.goldenSet === golden.set;
      const full = latest.find(isOwn) ?? null;
      const series = { pipeline: pipeline.name, golden_set: golden.set };
      return [
        ...dueSamples(deps, pipeline, golden, full, versions),
        ...sentinelSamples(deps, pipeline, golden, full, sentinels.find(isOwn) ?? null),
        ...(['full', 'sentinel'] as const)
          .filter((purpose) => (purpose === 'full' ? golden.cron : golden.sentinel) !== null)
          .flatMap((purpose) =>
            skipReasons.map((reason) => {
              const found = skips.find(
                (skip) => isOwn(skip) && skip.purpose === purpose && skip.reason === reason,
              );
              return sample(
                'recalld_golden_ticks_skipped',
                { ...series, purpose, reason },
                found?.count ?? 0,
              );
            }),
          ),
        ...(await rotationSamples(deps, pipeline, golden, open.find(isOwn) ?? null)),
      ];
    }),
  );
  return (await Promise.all(perSet)).flat();
}

/** The next success is due when the next planned run has had all the time that a run may take. */
function dueSamples(
  { timetable }: PublishScheduleDeps,
  pipeline: WatchedPipeline,
  golden: GoldenSchedule,
  full: LatestRun | null,
  versions: readonly GoldenSetVersion[],
): GaugeSample[] {
  const own = versions.filter(({ name }) => name === golden.set);
  const since = full?.completed?.startedAt ?? own.at(-1)?.importedAt ?? timetable.startedAt;
  const planned = timetable.nextRun(golden, since);
  if (planned === null) return [];
  const allowance = runDeadlineMs(own[0]?.queries ?? 0, golden.settings, pipeline.timeoutMs);
  const due = new Date(planned.getTime() + allowance);
  const labels = { pipeline: pipeline.name, golden_set: golden.set };
  return [sample('recalld_golden_run_expected_by_timestamp_seconds', labels, seconds(due))];
}

function sentinelSamples(
  { timetable, clock }: PublishScheduleDeps,
  pipeline: WatchedPipeline,
  golden: GoldenSchedule,
  full: LatestRun | null,
  latest: LatestSentinel | null,
): GaugeSample[] {
  const interval = timetable.sentinelIntervalSeconds(golden);
  if (golden.sentinel === null || interval === null) return [];
  const labels = { pipeline: pipeline.name, golden_set: golden.set };
  const ended = latest?.ended ?? null;
  const age = ended === null ? null : seconds(clock.now()) - seconds(ended.finishedAt);
  const isTrusted = age !== null && age <= INTERVALS_TO_TRUST * interval;
  const now = !isTrusted ? 'no_data' : ended?.hasFallen === true ? 'fallen' : 'stands';
  const since = latest?.completed?.startedAt ?? full?.completed?.finishedAt ?? null;
  const planned = since === null ? null : timetable.nextSentinel(golden, since);
  const allowance = runDeadlineMs(golden.sentinel.queries, golden.settings, pipeline.timeoutMs);
  return [
    sample('recalld_golden_sentinel_interval_seconds', labels, interval),
    ...(['stands', 'fallen', 'no_data'] as const).map((state) =>
      sample('recalld_golden_sentinel_state', { ...labels, state }, state === now ? 1 : 0),
    ),
    ...timestamp('recalld_golden_sentinel_last_attempt_timestamp_seconds', labels, latest?.lastAttemptAt),
    ...timestamp(
      'recalld_golden_sentinel_last_success_timestamp_seconds',
      labels,
      latest?.completed?.finishedAt,
    ),
    ...timestamp(
      'recalld_golden_sentinel_expected_by_timestamp_seconds',
      labels,
      planned === null ? null : new Date(planned.getTime() + allowance),
    ),
  ];
}

async function rotationSamples(
  { runs }: PublishScheduleDeps,
  pipeline: WatchedPipeline,
  { set }: GoldenSchedule,
  open: GoldenRotation | null,
): Promise<GaugeSample[]> {
  const labels = { pipeline: pipeline.name, golden_set: set };
  const done = open === null ? 0 : (await overlappingRuns(runs, open, pipeline.checks)).length;
  const remaining = open === null ? 0 : Math.max(0, open.runsNeeded - done);
  return [sample('recalld_golden_rotation_runs_remaining', labels, remaining)];
}

function timestamp(
  name: `recalld_golden_sentinel_${'last_attempt' | 'last_success' | 'expected_by'}_timestamp_seconds`,
  labels: { readonly pipeline: string; readonly golden_set: string },
  at: Date | null | undefined,
): GaugeSample[] {
  return at === null || at === undefined ? [] : [sample(name, labels, seconds(at))];
}

function seconds(date: Date): number {
  return date.getTime() / 1000;
}
