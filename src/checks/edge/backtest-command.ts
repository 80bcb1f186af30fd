/** `recalld backtest`: shows how often the configured checks would have fired on stored history. */

import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { type CommandSettings, commandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import type { Config, PipelineConfig } from '../../app/config/schema.ts';
import { goldenChecks, thresholdChecks } from '../../app/pipelines.ts';
import { formatTable, note, parseTime, printJson, printLine, withConfig } from '../../cli/output.ts';
import { RecalldError } from '../../core/errors.ts';
import { duration } from '../../core/format.ts';
import { toDocument } from '../../core/text/names.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { longestGapSeconds } from '../../math/schedule/occurrences.ts';
import { runTrustSeconds } from '../../measures/rules/measurement.ts';
import { backtestGoldenChecks, backtestThresholds } from '../backtest.ts';
import { isThreshold } from '../config.ts';
import type { CheckBacktest } from '../rules/verdict-episodes.ts';

export function backtestCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(command, 'recalld backtest --from 2026-10-01T00:00:00Z --to 2026-11-01T00:00:00Z')
    .requiredOption('--from <time>', 'start: replay only runs that ended at or after this time', parseTime)
    .option('--to <time>', 'end: replay only runs that ended before this time (default: now)', parseTime)
    .option('--pipeline <name>', 'only checks of this pipeline')
    .action(async (options) => {
      const { config, pipeline = null, from, to: until = new Date() } = options;
      const { sets, notes } = await runBacktest(commandSettings(config, signal), pipeline, from, until);
      for (const sentence of notes) note(`Note: ${sentence}`);
      if (options.json === true) printJson(toDocument({ from, to: until, sets }));
      else printLine(formatBacktest(sets));
    });
}

/** Formats a table of the checks that would have fired, with an example below each row. */
function formatBacktest(sets: readonly BacktestedChecks[]): string {
  const rows = sets.flatMap(({ pipeline, checks }) => checks.flatMap((check) => rowsOf(pipeline, check)));
  if (rows.length === 0) return 'No checks were evaluated in this period.';
  const examples = sets.flatMap(({ pipeline, checks }) =>
    checks.flatMap(({ name, firings }) =>
      firings.map(({ verdict, example }) => `${pipeline}, ${name}, ${verdict}: ${example}`),
    ),
  );
  const head = ['pipeline', 'check', 'evaluations', 'changes', 'verdict', 'times', 'total', 'longest', 'last start'];
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

/** Three times the longest interval between measurements, which is six hours. */
const THRESHOLD_TRUST_SECONDS = 3 * 21_600;

interface BacktestedChecks {
  readonly pipeline: string;
  /** Golden set of the check; null for checks on data other than golden runs. */
  readonly goldenSet: string | null;
  readonly checks: readonly CheckBacktest[];
}

/**
 * Evaluates the configured checks on all golden runs and measurements from `from` (inclusive) to `until` (exclusive).
 *
 * @param only name of the only pipeline to replay; null for all
 * @throws RecalldError usage if `from` is not before `until`, pipeline_unknown, interrupted, and the errors of
 *   withCommandStore
 */
async function runBacktest(settings: CommandSettings, only: string | null, from: Date, until: Date) {
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
        const set = { pipeline: name, goldenSet: golden.set, from, period, checks: goldenChecks(pipeline) };
        const checks = await backtestGoldenChecks(pool, db.golden.rotations, set, signal);
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
  return {
    sets,
    /** Sentences that state which checks were not replayed, and why. */
    notes: [...withoutRuns(sets), ...notReplayed(pipelines)],
  };
}

function withoutRuns(sets: readonly BacktestedChecks[]): string[] {
  return sets
    .filter(({ checks }) => checks.length === 0)
    .map(({ pipeline, goldenSet }) =>
      goldenSet === null
        ? `The measures with thresholds on ${pipeline} have no values in this period; \`recalld checks\` shows their current state.`
        : `No run of ${goldenSet} on ${pipeline} ended in this period, or the golden set has no checks; \`recalld runs list\` shows the stored runs.`,
    );
}

function notReplayed(pipelines: Config['pipelines']): string[] {
  return pipelines.flatMap(({ name, checks }) => [
    ...(checks.some((check) => 'density_drift' in check)
      ? [`Density drift on ${name} is not replayed; \`recalld checks --history\` shows past density alerts.`]
      : []),
    ...(checks.some((check) => isThreshold(check) && check.measure.endsWith('_age_seconds'))
      ? [`Age thresholds on ${name} are not replayed, because ages are not stored.`]
      : []),
  ]);
}
