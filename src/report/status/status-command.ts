/** `recalld status`: how every pipeline stands, at one glance. */
import type { Command } from 'commander';
import { commandSettings, withWatchedStore } from '../../app/commands/command-store.ts';
import { EXIT_CHECK_FAILED } from '../../cli/exit.ts';
import {
  ageText,
  type ConfiguredOptions,
  formatTable,
  printJson,
  printLine,
  sparkline,
  styled,
  verdictText,
  withConfig,
} from '../../cli/output.ts';
import { type OverviewJson, readOverview } from './read-status.ts';

export function statusCommand(command: Command, signal: AbortSignal): Command {
  return withConfig(command, 'recalld status').action(async ({ config, json }: ConfiguredOptions) => {
    const overview = await withWatchedStore(commandSettings(config, signal), readOverview);
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
  const why = pipelines.flatMap(({ pipeline, reasons, unknowns, diagnosis }) => [
    ...(diagnosis === null ? [] : [`${styled('bold', pipeline)}: ${diagnosis}`]),
    ...[...reasons, ...unknowns].map((reason) => `${styled('bold', pipeline)}: ${reason}`),
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
