/** `recalld backtest`: how often the configured checks would have fired on stored history. */
import type { Command } from 'commander';
import { type BacktestedChecks, runBacktest } from '../app/commands/backtest.ts';
import { commandSettings } from '../app/commands/command-settings.ts';
import type { CheckBacktest, Firings } from '../core/checks/backtest.ts';
import { type ConfiguredOptions, configuredCommand } from './configured-command.ts';
import { formatTable, note, printJson, printLine } from './output.ts';
import { parseTime } from './parse-time.ts';

interface BacktestOptions extends ConfiguredOptions {
  readonly from: Date;
  readonly to?: Date;
}

export function backtestCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'backtest',
    'Tell how often the configured checks would have fired on stored history, before paging is turned on.',
    'recalld backtest --from 2026-10-01T00:00:00Z --to 2026-11-01T00:00:00Z',
  )
    .requiredOption('--from <time>', 'only runs that ended at or after this', parseTime)
    .option('--to <time>', 'only runs that ended before this (default: now)', parseTime)
    .action(async (options: BacktestOptions) => {
      const until = options.to ?? new Date();
      const { sets, notes } = await runBacktest(commandSettings(options.config, signal), options.from, until);
      for (const sentence of notes) note(`Note: ${sentence}`);
      if (options.json === true) printJson(toJson(options.from, until, sets));
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
  const head = [
    'pipeline',
    'check',
    'judged',
    'changes',
    'verdict',
    'times',
    'total',
    'longest',
    'last began',
  ];
  return [formatTable(head, rows, 5), ...(examples.length === 0 ? [] : ['', ...examples])].join('\n');
}

function rowsOf(pipeline: string, { name, evaluations, transitions, firings }: CheckBacktest): string[][] {
  const first = [pipeline, name, `${evaluations}`, `${transitions}`];
  if (firings.length === 0) return [[...first, 'never fired', '-', '-', '-', '-']];
  return firings.map((each, index) => [
    ...(index === 0 ? first : ['', '', '', '']),
    each.verdict,
    `${each.episodes}`,
    formatDuration(each.totalSeconds),
    formatDuration(each.longestSeconds),
    each.lastAt.toISOString(),
  ]);
}

/** In the two largest units, as people say it. */
function formatDuration(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function toJson(from: Date, until: Date, sets: readonly BacktestedChecks[]) {
  return {
    from: from.toISOString(),
    to: until.toISOString(),
    sets: sets.map(({ pipeline, goldenSet, checks }) => ({
      pipeline,
      golden_set: goldenSet,
      checks: checks.map(({ name, severity, threshold, evaluations, transitions, firings }) => ({
        name,
        severity,
        threshold,
        evaluations,
        transitions,
        firings: firings.map(firingsJson),
      })),
    })),
  };
}

function firingsJson({ verdict, episodes, totalSeconds, longestSeconds, firstAt, lastAt, example }: Firings) {
  return {
    verdict,
    episodes,
    total_seconds: totalSeconds,
    longest_seconds: longestSeconds,
    first_at: firstAt.toISOString(),
    last_at: lastAt.toISOString(),
    example,
  };
}
