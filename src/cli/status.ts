/** `recalld status`: how every pipeline stands, at one glance. */
import type { Command } from 'commander';
import { commandSettings } from '../app/commands/command-settings.ts';
import { readOverview } from '../app/commands/status-command.ts';
import type { OverviewJson } from '../status/overview-schema.ts';
import { type ConfiguredOptions, configuredCommand } from './configured-command.ts';
import { EXIT_CHECK_FAILED } from './exit-code.ts';
import { formatTable, printJson, printLine } from './output.ts';
import { ageText, sparkline, styled, verdictText } from './style.ts';

export function statusCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'status',
    'Show how every pipeline stands, how old that is and why; exit 1 unless all are ok.',
    'recalld status',
  ).action(async ({ config, json }: ConfiguredOptions) => {
    const overview = await readOverview(commandSettings(config, signal));
    if (json === true) printJson(overview);
    else printLine(formatOverview(overview));
    if (overview.some(({ state }) => state !== 'ok')) process.exitCode = EXIT_CHECK_FAILED;
  });
}

function formatOverview(pipelines: readonly OverviewJson[]): string {
  if (pipelines.length === 0) return 'The config has no pipeline; add one under `pipelines`.';
  const rows = pipelines.flatMap(({ pipeline, state, golden_sets: sets }) =>
    (sets.length === 0 ? [null] : sets).map((set, index) => [
      index === 0 ? pipeline : '',
      index === 0 ? verdictText(state) : '',
      ...(set === null
        ? ['-', '-', '', '-']
        : [
            set.golden_set,
            set.score === null ? '-' : scoreText(set.score),
            sparkline(set.trend),
            set.age_seconds === null
              ? 'never ran'
              : `${ageText(set.age_seconds)}${set.is_too_old ? styled('yellow', ' (too old)') : ''}`,
          ]),
    ]),
  );
  const table = formatTable(['pipeline', 'state', 'golden set', 'score', 'trend', 'age'], rows);
  const why = pipelines.flatMap(({ pipeline, reasons, diagnosis }) => [
    ...(diagnosis === null ? [] : [`${styled('bold', pipeline)}: ${diagnosis}`]),
    ...reasons.map((reason) => `${styled('bold', pipeline)}: ${reason}`),
  ]);
  return why.length === 0 ? table : `${table}\n\n${why.join('\n')}`;
}

function scoreText({
  measure,
  mean,
  ci_low: low,
  ci_high: high,
}: NonNullable<OverviewJson['golden_sets'][number]['score']>): string {
  return `${measure} ${mean.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}
