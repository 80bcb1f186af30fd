/** `recalld backtest`: how often the configured checks would have fired on stored history. */

import type { Command } from 'commander';
import { type CommandSettings, commandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import type { Config, PipelineConfig } from '../../app/config/schema.ts';
import { goldenChecks, thresholdChecks } from '../../app/pipelines.ts';
import {
  type ConfiguredOptions,
  formatTable,
  note,
  parseTime,
  printJson,
  printLine,
  withConfig,
} from '../../cli/output.ts';
import { RecalldError } from '../../core/errors.ts';
import { duration } from '../../core/format.ts';
import { toDocument } from '../../core/text/names.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { longestGapSeconds } from '../../math/schedule/occurrences.ts';
import { runTrustSeconds } from '../../measures/rules/measurement.ts';
import { backtestGoldenChecks, backtestThresholds } from '../backtest.ts';
import { isThreshold } from '../config.ts';
import type { CheckBacktest } from '../rules/verdict-episodes.ts';

interface BacktestOptions extends ConfiguredOptions {
  readonly from: Date;
  readonly to?: Date;
  readonly pipeline?: string;
}

export function backtestCommand(command: Command, signal: AbortSignal): Command {
  return withConfig(command, 'recalld backtest --from 2026-10-01T00:00:00Z --to 2026-11-01T00:00:00Z')
    .requiredOption('--from <time>', 'only runs that ended at or after this', parseTime)
    .option('--to <time>', 'only runs that ended before this (default: now)', parseTime)
    .option('--pipeline <name>', 'only the checks of this pipeline')
    .action(async (options: BacktestOptions) => {
      const { config, pipeline = null, from, to: until = new Date() } = options;
      const { sets, notes } = await runBacktest(commandSettings(config, signal), pipeline, from, until);
      for (const sentence of notes) note(`Note: ${sentence}`);
      if (options.json === true) printJson(toDocument({ from, to: until, sets }));
      else printLine(formatBacktest(sets));
    });
}

/** A table of what fired, with an example sentence below for each row of it. */
export function formatBacktest(sets: readonly BacktestedChecks[]): string {
  const rows = sets.flatMap(({ pipeline, checks }) => checks.flatMap((check) => rowsOf(pipeline, check)));
  if (rows.length === 0) return 'No check was judged within that time.';
  const examples = sets.flatMap(({ pipeline, checks }) =>
    checks.flatMap(({ name, firings }) =>
      firings.map(({ verdict, example }) => `${pipeline}, ${name}, ${verdict}: ${example}`),
    ),
  );
  const head = ['pipeline', 'check', 'judged', 'changes', 'verdict', 'times', 'total', 'longest', 'last began'];
  return [formatTable(head, rows, 5), ...(examples.length === 0 ? [] : ['', ...examples])].join('\n');
}

function rowsOf(pipeline: string, { name, evaluations, transitions, firings }: CheckBacktest): string[][] {
  const first = [pipeline, name, `${evaluations}`, `${transitions}`];
  if (firings.length === 0) return [[...first, 'never fired', '-', '-', '-', '-']];
  return firings.map((each, index) => [
    ...(index === 0 ? first : ['', '', '', '']),
    each.verdict,
    `${each.episodes}`,
    duration(each.totalSeconds),
    duration(each.longestSeconds),
    each.lastAt.toISOString(),
  ]);
}

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
 * @param only the one pipeline that is meant; null: all of them
 * @throws RecalldError usage when the times are not in order, pipeline_unknown, interrupted, and as withCommandStore
 */
export async function runBacktest(
  settings: CommandSettings,
  only: string | null,
  from: Date,
  until: Date,
): Promise<Backtest> {
  if (from >= until) throw new RecalldError('usage', '--from must be before --to; swap the two times.');
  const { config, signal } = settings;
  const pipelines = only === null ? config.pipelines : [findPipeline(config.pipelines, only)];
  const trusted = ({ cron, timezone }: PipelineConfig['golden'][number]): number =>
    runTrustSeconds(cron === undefined ? null : longestGapSeconds({ expression: cron, timezone }, until));
  const sets = await withCommandStore(settings, async ({ storage: { pool }, db }) => {
    const found: BacktestedChecks[] = [];
    for (const pipeline of pipelines) {
      const { name } = pipeline;
      for (const golden of pipeline.golden) {
        const period = { until, trustedSeconds: trusted(golden) };
        const set = { pipeline: name, goldenSet: golden.set, checks: goldenChecks(pipeline), from, period };
        const checks = await backtestGoldenChecks({ pool, rotations: db.golden.rotations }, set, signal);
        found.push({ pipeline: name, goldenSet: golden.set, checks });
      }
      const thresholds = thresholdChecks(pipeline);
      if (thresholds.length === 0) continue;
      const period = { until, trustedSeconds: THRESHOLD_TRUST_SECONDS };
      const checks = await backtestThresholds(pool, { pipeline: name, thresholds, from, period }, signal);
      found.push({ pipeline: name, goldenSet: null, checks });
    }
    return found;
  });
  return { sets, notes: [...withoutRuns(sets), ...notReplayed(pipelines)] };
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
function notReplayed(pipelines: Config['pipelines']): string[] {
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
