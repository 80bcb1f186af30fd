import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandStores } from '../../app/commands/command-store.ts';
import { EXIT_CHECK_FAILED } from '../../cli/exit.ts';
import { printJson, printLine, sparkline as trend, withConfig } from '../../cli/output.ts';
import { duration } from '../../core/format.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { Content } from '../model/content.ts';
import { empty, missing, note, paragraph, strong, table, value, verdictBadge } from '../model/show.ts';
import { terminalText } from '../terminal.ts';
import { type OverviewJson, readOverview } from './read-status.ts';

export function statusCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(command, 'recalld status').action(async ({ config, json }) => {
    const overview = await commandStores(signal)(config, readOverview);
    if (json === true) printJson(overview);
    else printLine(terminalText(contentOf(overview), systemClock.now()));
    if (overview.some(({ state }) => state !== 'ok')) process.exitCode = EXIT_CHECK_FAILED;
  });
}

function contentOf(pipelines: readonly OverviewJson[]): Content {
  if (pipelines.length === 0) return empty('The config has no pipeline; add a pipeline under `pipelines`.');
  const rows = pipelines.flatMap(({ golden_sets: sets, ...of }) =>
    (sets.length === 0 ? [null] : sets).map((set, index) => ({ ...of, set, isFirst: index === 0 })),
  );
  return [
    table('Pipelines', rows, [
      ['Pipeline', ({ pipeline, isFirst }) => isFirst && pipeline],
      ['State', ({ state, isFirst }) => isFirst && verdictBadge(state)],
      ['Golden set', ({ set }) => set?.golden_set ?? missing('none')],
      [
        'Score (95 % CI)',
        ({ set }) =>
          set !== null &&
          set.score !== null && [
            `${set.score.measure} `,
            value(set.score.mean, 'score', set.score.ci_low, set.score.ci_high),
          ],
      ],
      ['Trend', ({ set }) => set !== null && trend(set.trend)],
      [
        'Age',
        ({ set }) =>
          set !== null &&
          (set.age_seconds === null
            ? missing('never ran')
            : [duration(set.age_seconds), set.is_too_old && note('too old')]),
      ],
    ]),
    pipelines.flatMap(({ pipeline, reasons, unknowns, diagnosis }) =>
      [...(diagnosis === null ? [] : [diagnosis]), ...reasons, ...unknowns].map((reason) =>
        paragraph(strong(pipeline), `: ${reason}`),
      ),
    ),
  ];
}
