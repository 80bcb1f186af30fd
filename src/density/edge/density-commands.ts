import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import {
  type CommandStore,
  commandSettings,
  withCommandStore,
  withPipeline,
} from '../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../app/pipelines.ts';
import { readDensityVerdict } from '../../checks/check-store.ts';
import { configuredCommand, parseCount, parseTime, printJson, printLine } from '../../cli/output.ts';
import { RecalldError } from '../../core/errors.ts';
import { systemClock } from '../../core/system-clock.ts';
import { DAY_MS } from '../../core/time.ts';
import { commandUser } from '../../platform/access/audit-log.ts';
import type { Column } from '../../report/model/content.ts';
import { paragraph, table, time, value } from '../../report/model/show.ts';
import { terminalText } from '../../report/terminal.ts';
import { describeDensity } from '../describe-density.ts';
import { describedTopic, topicJson } from '../http-contract.ts';
import { requestRebaseline } from '../learn-baseline.ts';
import { topicName, topicStates, type UncoveredTopic } from '../rules/uncovered-topic.ts';
import { readComplaints } from './complaints-reads.ts';
import { densityContent } from './density-page.ts';
import { complaintsJson } from './routes.ts';
import { complaintsSection, topicContent } from './sections.ts';

function complaintsCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'complaints',
    'Show topics that are more frequent in sessions with negative feedback than in others.',
    'recalld topics complaints --pipeline support-docs --days 14 --why',
  )
    .requiredOption('--pipeline <name>', 'configured pipeline')
    .option('--days <n>', 'number of days of live queries to analyze', parseCount, 14)
    .option('--why', 'explain why the retriever did not return documents that users liked for similar queries', false)
    .action(async ({ pipeline: name, days, why, json, config }) => {
      const settings = commandSettings(config, signal);
      await withPipeline(settings, name, (pipeline) =>
        withCommandStore(settings, async (store) => {
          const report = await readComplaints(store, pipeline, days, why, signal);
          if (json === true) printJson(complaintsJson(report));
          else printLine(terminalText(complaintsSection(report, true), systemClock.now()));
        }),
      );
    });
}

const WEEK_MS = 7 * DAY_MS;

export function densityCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand(
      'show',
      'Show the density baseline, the latest values and the recorded events.',
      'recalld density show --pipeline support-docs',
    )
      .requiredOption('--pipeline <name>', 'configured pipeline')
      .option('--segment <segment>', '`all`, or a segment as key=value', 'all')
      .action(async ({ pipeline, segment, config, json }) => {
        const settings = commandSettings(config, signal);
        assertConfiguredPipeline(settings.config, pipeline);
        await withCommandStore(settings, async (store) => {
          const until = store.clock.now();
          const request = { pipeline, segment, from: new Date(until.getTime() - WEEK_MS), until };
          const found = await describeDensity(store, request, await readDensityVerdict(store, pipeline));
          if (json === true) printJson(found);
          else printLine(terminalText(densityContent(found), systemClock.now()));
        });
      }),
  );
  command.addCommand(
    configuredCommand(
      'rebaseline',
      'Discard the baseline and learn a new one, so that the current coverage becomes the standard.',
      'recalld density rebaseline --pipeline support-docs --since 2026-11-20T00:00:00Z --reason "the old product line was removed"',
    )
      .requiredOption('--pipeline <name>', 'configured pipeline')
      .option('--reason <text>', 'reason for the new baseline, shown with its event')
      .option('--since <time>', 'ignore traffic from before this time (default: use the latest traffic)', parseTime)
      .action(async ({ config, json, pipeline, reason = null, since = null }) => {
        const settings = commandSettings(config, signal);
        assertConfiguredPipeline(settings.config, pipeline);
        const request = { pipeline, reason, since, by: commandUser() };
        const status = await withCommandStore(settings, (store) => requestRebaseline(store, request));
        if (json === true) printJson({ status });
        else if (status === 'unwatched')
          printLine(`${pipeline} has not been measured yet. recalld learns the first baseline automatically.`);
        else
          printLine(
            `The daemon starts a new baseline for ${pipeline} within a minute, or as soon as there is enough traffic.`,
          );
      }),
  );
  return command;
}

export function topicsCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(
    configuredCommand('list', 'List uncovered topics, largest first.', 'recalld topics list --pipeline support-docs')
      .option('--pipeline <name>', 'only topics of this pipeline')
      .option('--all', 'include closed topics')
      .option('--limit <n>', 'maximum number of topics', parseCount, 20)
      .action(async ({ pipeline, all, limit, json, config }) => {
        const states = all === true ? topicStates : (['open', 'acknowledged'] as const);
        await withCommandStore(commandSettings(config, signal), async ({ db }) => {
          const { topics } = db.density;
          const found = await topics.list({ states, limit, pipeline });
          if (json === true) printJson(await Promise.all(found.map((topic) => describedTopic(topics, topic))));
          else if (found.length === 0) printLine('No uncovered topics.');
          else printLine(terminalText(table('Uncovered topics', found, topicColumns), systemClock.now()));
        });
      }),
  );
  command.addCommand(
    configuredCommand('show', 'Show one topic with example queries.', 'recalld topics show t-3f9a1c2b')
      .argument('<id>', 'id of the topic')
      .action(async (id, { json, config }) => {
        await withCommandStore(commandSettings(config, signal), async (store) => {
          const topic = await findTopic(store, id);
          const [texts, windows] = await Promise.all([
            store.db.density.topics.texts(topic.pipeline, topic.examples),
            store.db.density.topics.windows(id),
          ]);
          if (json === true) return printJson(topicJson(topic, texts, windows));
          const place = paragraph(`${topic.id} on ${topic.pipeline}`);
          printLine(terminalText([topicContent({ topic, windows, texts }, true), place], systemClock.now()));
        });
      }),
  );
  for (const [name, state, what] of [
    ['acknowledge', 'acknowledged', 'Mark a topic as being worked on.'],
    ['close', 'closed', 'Close a topic. recalld reopens the topic if users ask about it again.'],
  ] as const) {
    command.addCommand(
      configuredCommand(name, what, `recalld topics ${name} t-3f9a1c2b --note "page is being written"`)
        .argument('<id>', 'id of the topic')
        .option('--note <text>', 'reason, or planned action')
        .action(async (id, { note = null, json, config }) => {
          await withCommandStore(commandSettings(config, signal), async (store) => {
            await store.db.density.topics.setState(id, state, note, commandUser(), new Date());
            const topic = await findTopic(store, id);
            if (json === true) printJson(topicJson(topic, new Map()));
            else printLine(`${topicName(topic)} (${id}) is ${state}.`);
          });
        }),
    );
  }
  return command.addCommand(complaintsCommand(signal));
}

const topicColumns: readonly Column<UncoveredTopic>[] = [
  ['Topic', ({ id }) => id],
  ['Name', topicName],
  ['Pipeline', ({ pipeline }) => pipeline],
  ['State', ({ state }) => state],
  ['First seen', ({ firstSeen }) => time(firstSeen)],
  [
    'Traffic (95 % CI)',
    ({ trafficShare, shareLow, shareHigh }) => value(trafficShare, 'share', shareLow, shareHigh),
    'number',
  ],
  ['Excess', ({ excessPoints }) => value(excessPoints / 100, 'points'), 'number'],
  ['Density', ({ density }) => value(density, 'ratio'), 'number'],
];

/** @throws RecalldError topic_unknown */
async function findTopic({ db }: CommandStore, id: string): Promise<UncoveredTopic> {
  const topic = await db.density.topics.find(id);
  if (topic !== null) return topic;
  throw new RecalldError(
    'topic_unknown',
    `There is no uncovered topic ${id}. List the topics with \`recalld topics list\`.`,
  );
}
