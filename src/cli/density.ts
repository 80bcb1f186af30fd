/** `recalld density`: how well the store covers what people ask, and against what that is held. */
import { Command } from 'commander';
import { commandSettings } from '../app/commands/command-settings.ts';
import { rebaselineDensity, showDensity } from '../app/commands/density-command.ts';
import type { DensityAnswer } from '../contracts/http/density.ts';
import { type ConfiguredOptions, configuredCommand } from './configured-command.ts';
import { formatTable, printJson, printLine } from './output.ts';
import { parseTime } from './parse-time.ts';

interface ShowOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly segment: string;
}

interface RebaselineOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly reason?: string;
  readonly since?: Date;
}

const EVENTS_SHOWN = 5;

export function densityCommand(signal: AbortSignal): Command {
  const command = new Command('density').description('How well the vector store covers what people ask.');
  command.addCommand(
    configuredCommand(
      'show',
      'Show the baseline, the latest values and what happened.',
      'recalld density show --pipeline support-docs',
    )
      .requiredOption('--pipeline <name>', 'pipeline of the config')
      .option('--segment <segment>', '`all`, or key=value of a tag', 'all')
      .action(async ({ pipeline, segment, config, json }: ShowOptions) => {
        const found = await showDensity(commandSettings(config, signal), pipeline, segment);
        if (json === true) printJson(found);
        else for (const line of linesOf(found)) printLine(line);
      }),
  );
  command.addCommand(
    configuredCommand(
      'rebaseline',
      'Let go of the baseline and learn a new one: the coverage of now is the one to hold.',
      'recalld density rebaseline --pipeline support-docs --since 2026-11-20T00:00:00Z --reason "the old product line was removed"',
    )
      .requiredOption('--pipeline <name>', 'pipeline of the config')
      .option('--reason <text>', 'why, in short')
      .option('--since <time>', 'take no traffic from before then (default: the latest there is)', parseTime)
      .action(async ({ pipeline, config, json, ...options }: RebaselineOptions) => {
        const { reason = null, since = null } = options;
        const request = { pipeline, reason, since };
        const status = await rebaselineDensity(commandSettings(config, signal), request);
        if (json === true) printJson({ status });
        else if (status === 'unwatched')
          printLine(`Nothing was measured of ${pipeline} yet; its first baseline is learnt by itself.`);
        else
          printLine(
            `The daemon learns a new baseline of ${pipeline} with its next minute, or as soon as the traffic is enough.`,
          );
      }),
  );
  return command;
}

function linesOf({ pipeline, phase, baseline, progress, check, ...rest }: DensityAnswer): string[] {
  const { outgrew_baseline: outgrown, measures, events } = rest;
  const rows = Object.entries(measures).map(([measure, { latest, no_data: gap }]) => [
    measure,
    gap === null ? (latest === null ? '-' : latest.value.toFixed(3)) : gap.reason,
    latest?.ci_low == null || latest.ci_high == null || gap !== null
      ? ''
      : `${latest.ci_low.toFixed(3)} to ${latest.ci_high.toFixed(3)}`,
    latest === null || gap !== null ? '' : String(latest.sessions),
    latest?.window_end ?? '',
  ]);
  return [
    standing(pipeline, phase, baseline, progress),
    ...(check === null ? [] : [`${check.verdict}: ${check.explanation}`]),
    ...(outgrown
      ? [
          `For two weeks the store has covered more than in the baseline; a loss of that gain would not be seen. Hold it with \`recalld density rebaseline --pipeline ${pipeline}\`.`,
        ]
      : []),
    formatTable(['measure', 'value', '95 %', 'sessions', 'until'], rows),
    ...events
      .slice(0, EVENTS_SHOWN)
      .map(({ occurred_at: at, kind, sentence }) => `${at} ${kind}: ${sentence}`),
  ];
}

function standing(
  pipeline: string,
  phase: DensityAnswer['phase'],
  baseline: DensityAnswer['baseline'],
  progress: DensityAnswer['progress'],
): string {
  if (baseline !== null) {
    const { version, grade, sessions, days, until } = baseline;
    return `${pipeline} is held against baseline ${version} (${grade}, ${sessions} sessions of ${days} days until ${until}).`;
  }
  if (progress !== null) {
    const { days, sessions, needs } = progress;
    return `${pipeline} has no baseline yet: ${days} of ${needs.days} days and ${sessions} of ${needs.sessions} sessions.`;
  }
  return phase === 'replaying'
    ? `The baseline of ${pipeline} is being made anew after a change of what is measured with.`
    : `The density of ${pipeline} is not watched; it takes a vector_store and density in the config, and a running daemon.`;
}
