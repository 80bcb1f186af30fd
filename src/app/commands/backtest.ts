/** What the checks of a config would have said on the stored history. */
import { createMeasurements } from '../../adapters/postgres/measurements.ts';
import { createSchedule } from '../../adapters/schedule/node-cron.ts';
import { isThreshold } from '../../contracts/config/checks.ts';
import type { Config, PipelineConfig } from '../../contracts/config/schema.ts';
import type { CheckBacktest } from '../../core/checks/backtest.ts';
import { RecalldError } from '../../core/errors.ts';
import { backtestGoldenChecks } from '../../pipeline/checks/backtest-golden-checks.ts';
import { backtestThresholds } from '../../pipeline/checks/backtest-thresholds.ts';
import { runTrustSeconds } from '../../pipeline/checks/trust.ts';
import { goldenChecks, thresholdChecks } from '../pipelines.ts';
import { systemClock } from '../system-clock.ts';
import { type CommandSettings, withCommandStore } from './command-store.ts';

/** What is measured least often is measured every six hours. */
const THRESHOLD_TRUST_SECONDS = 3 * 21_600;

export interface BacktestedChecks {
  readonly pipeline: string;
  /** Null: on something else than golden runs. */
  readonly goldenSet: string | null;
  readonly checks: readonly CheckBacktest[];
}

export interface Backtest {
  readonly sets: readonly BacktestedChecks[];
  /** Sentences on what was left out, and why. */
  readonly notes: readonly string[];
}

/**
 * Judges all golden runs that ended, and all that was measured, from `from` to before `until` with the checks of the
 * config.
 *
 * @throws RecalldError usage when the times are not in order, and as withCommandStore
 */
export async function runBacktest(settings: CommandSettings, from: Date, until: Date): Promise<Backtest> {
  if (from >= until) throw new RecalldError('usage', '--from must be before --to; swap the two times.');
  const { config, logger } = settings;
  const schedule = createSchedule(logger);
  const trusted = ({ cron, timezone }: PipelineConfig['golden'][number]): number =>
    runTrustSeconds(cron === undefined ? null : schedule.longestGapSeconds(cron, timezone, until));
  const sets = await withCommandStore(settings, async ({ runs, rotations, storage }) => {
    const found: BacktestedChecks[] = [];
    for (const pipeline of config.pipelines) {
      for (const golden of pipeline.golden) {
        const checks = await backtestGoldenChecks(
          { runs, rotations },
          {
            pipeline: pipeline.name,
            goldenSet: golden.set,
            checks: goldenChecks(pipeline),
            from,
            period: { until, trustedSeconds: trusted(golden) },
          },
        );
        found.push({ pipeline: pipeline.name, goldenSet: golden.set, checks });
      }
      const thresholds = thresholdChecks(pipeline);
      if (thresholds.length === 0) continue;
      const checks = await backtestThresholds(
        { measurements: createMeasurements(storage.pool), clock: systemClock },
        {
          pipeline: pipeline.name,
          thresholds,
          from,
          period: { until, trustedSeconds: THRESHOLD_TRUST_SECONDS },
        },
      );
      found.push({ pipeline: pipeline.name, goldenSet: null, checks });
    }
    return found;
  });
  return { sets, notes: [...withoutRuns(sets), ...notReplayed(config)] };
}

function withoutRuns(sets: readonly BacktestedChecks[]): string[] {
  return sets
    .filter(({ checks }) => checks.length === 0)
    .map(({ pipeline, goldenSet }) =>
      goldenSet === null
        ? `Nothing that the thresholds of ${pipeline} are on was measured within that time; \`recalld checks\` shows what is known of them.`
        : `No run of ${goldenSet} on ${pipeline} ended within that time, or nothing is expected of it; \`recalld runs list\` shows what is stored.`,
    );
}

/** Checks whose verdicts cannot be found again from what is stored. */
function notReplayed({ pipelines }: Config): string[] {
  return pipelines.flatMap(({ name, checks }) => [
    ...(checks.some((check) => 'density_drift' in check)
      ? [
          `The alarms of density drift on ${name} are not raised anew; \`recalld checks --history\` shows when they were.`,
        ]
      : []),
    ...(checks.some((check) => isThreshold(check) && check.measure.endsWith('_age_seconds'))
      ? [`Ages on ${name} are not stored, so that thresholds on them are not replayed.`]
      : []),
  ]);
}
