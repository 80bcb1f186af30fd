/** `recalld topics complaints`: what people ask who are not content, and why they did not get what others liked. */
import type { Command } from 'commander';
import {
  type CommandSettings,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../app/commands/command-store.ts';
import { type ConfiguredOptions, configuredCommand, parseCount } from '../cli/configured-command.ts';
import { printJson, printLine, sparkline, styled } from '../cli/output.ts';
import { count } from '../console/format.ts';
import { countsOf, verdictWords } from '../explain/explain-answer.ts';
import { type Explained, filtersOf } from '../explain/misses.ts';
import { systemClock } from '../system-clock.ts';
import { percent } from '../text/spelling.ts';
import {
  type ComplaintsReport,
  complaintsJson,
  type ExplainedComplaint,
  lackingSentence,
  readComplaints,
} from './complaints-reads.ts';
import { densityTasks } from './compute.ts';

interface ComplaintOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly days: number;
  readonly why: boolean;
}

export function complaintsCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'complaints',
    'Show what people ask more who give negative feedback than those who do not.',
    'recalld topics complaints --pipeline support-docs --days 14 --why',
  )
    .requiredOption('--pipeline <name>', 'pipeline of the config')
    .option('--days <n>', 'live queries of so many days', parseCount, 14)
    .option('--why', 'ask why queries of a topic did not get what people liked who asked alike', false)
    .action((options: ComplaintOptions) => complaints(commandSettings(options.config, signal), options));
}

async function complaints(
  settings: CommandSettings,
  { pipeline: name, days, why, json }: ComplaintOptions,
): Promise<void> {
  const filters = why ? filtersOf(settings.config, name) : null;
  await withPipeline(settings, name, (pipeline) =>
    withCommandStore(settings, async (store) => {
      const deps = {
        ...store,
        table: store.density.complaints,
        cluster: densityTasks.findComplaints,
        clock: systemClock,
      };
      const report = await readComplaints(deps, pipeline, { days, filters }, settings.signal);
      if (json === true) printJson(complaintsJson(report));
      else printLine(textOf(report));
    }),
  );
}

function textOf(report: ComplaintsReport): string {
  const { found, topics, days } = report;
  if (found.kind === 'insufficient_data') return lackingSentence(report) ?? '';
  const of = `${count(found.negative)} sessions with negative feedback, ${count(found.others)} without, of ${days} days.`;
  if (topics.length === 0) return `${of} They do not differ by what they ask about.`;
  return [of, ...topics.map(paragraphOf)].join('\n\n');
}

function paragraphOf({ topic, why }: ExplainedComplaint): string {
  const { label, sessions, share, othersShare, failed, empty, members, shown, days, liked } = topic;
  const name = label.length === 0 ? (topic.members[0] ?? '') : label.join(' ');
  const trend = days.map(({ negative, sessions: own }) => own / negative);
  return [
    styled('bold', name),
    `${percent(share.value)} of the sessions with negative feedback (95 % ${percent(share.low)} to ${percent(share.high)}, n = ${count(sessions)}), ${percent(othersShare)} of the others.`,
    ...(days.length < 2 ? [] : [`${sparkline(trend)} by day, ${days[0]?.day ?? ''} to ${days.at(-1)?.day ?? ''}`]),
    ...(failed + empty === 0 ? [] : [`Of its ${members.length} queries ${failed} failed and ${empty} found nothing.`]),
    ...shown.map(({ id, text }) => `  ${text ?? id}`),
    ...(liked.length === 0
      ? ['Nobody who asked alike liked a document, so nothing tells what should have come.']
      : [`Liked by people who asked alike: ${liked.join(', ')}.`]),
    ...whyLines(why, liked),
  ].join('\n');
}

function whyLines(why: readonly Explained[] | null, liked: readonly string[]): string[] {
  if (why === null || liked.length === 0) return [];
  if (why.length === 0) return ['Its queries got them.'];
  return [
    `Why its queries did not get them: ${countsOf(why)
      .map(([words, times]) => `${times} ${words}`)
      .join(', ')}.`,
    ...why.map((one) => `  ${one.document}: ${verdictWords(one)}. ${one.evidence[0] ?? ''}`),
  ];
}
