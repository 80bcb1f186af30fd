/** `recalld topics`: what people ask that the store does not cover. */
import { Command } from 'commander';
import { commandSettings } from '../app/commands/command-settings.ts';
import { type CommandSettings, type CommandStore, withCommandStore } from '../app/commands/command-store.ts';
import { topicJson } from '../contracts/http/uncovered-topic.ts';
import { type TopicState, topicName, type UncoveredTopic } from '../core/drift/topics/uncovered-topic.ts';
import { RecalldError } from '../core/errors.ts';
import { type ConfiguredOptions, configuredCommand } from './configured-command.ts';
import { formatTable, printJson, printLine } from './output.ts';
import { parseCount } from './parse-count.ts';

interface ListOptions extends ConfiguredOptions {
  readonly pipeline?: string;
  readonly all?: boolean;
  readonly limit: number;
}

interface ChangeOptions extends ConfiguredOptions {
  readonly note?: string;
}

export function topicsCommand(signal: AbortSignal): Command {
  const command = new Command('topics').description('What people ask that the store does not cover.');
  command.addCommand(
    configuredCommand(
      'list',
      'List uncovered topics, largest first.',
      'recalld topics list --pipeline support-docs',
    )
      .option('--pipeline <name>', 'only those of this pipeline')
      .option('--all', 'closed ones too')
      .option('--limit <n>', 'at most so many', parseCount, 20)
      .action((options: ListOptions) => list(commandSettings(options.config, signal), options)),
  );
  command.addCommand(
    configuredCommand('show', 'Show one topic with example queries.', 'recalld topics show t-3f9a1c2b')
      .argument('<id>', 'id of the topic')
      .action((id: string, options: ConfiguredOptions) =>
        show(commandSettings(options.config, signal), id, options),
      ),
  );
  for (const [name, state, what] of [
    ['acknowledge', 'acknowledged', 'Say that somebody looks after a topic.'],
    ['close', 'closed', 'Close a topic; it opens again when it is seen again.'],
  ] as const) {
    command.addCommand(
      configuredCommand(name, what, `recalld topics ${name} t-3f9a1c2b --note "page is being written"`)
        .argument('<id>', 'id of the topic')
        .option('--note <text>', 'why, or what is being done')
        .action((id: string, options: ChangeOptions) =>
          change(commandSettings(options.config, signal), id, state, options),
        ),
    );
  }
  return command;
}

async function list(settings: CommandSettings, { pipeline, all, limit, json }: ListOptions): Promise<void> {
  const states: readonly TopicState[] =
    all === true ? ['open', 'acknowledged', 'closed'] : ['open', 'acknowledged'];
  await withCommandStore(settings, async ({ topics }) => {
    const found = await topics.list({ states, limit, ...(pipeline === undefined ? {} : { pipeline }) });
    if (json === true) {
      printJson(
        await Promise.all(
          found.map(async (topic) => topicJson(topic, await topics.texts(topic.pipeline, topic.examples))),
        ),
      );
    } else if (found.length === 0) printLine('No uncovered topic is known.');
    else {
      const head = ['topic', 'name', 'pipeline', 'state', 'since', 'traffic', '95 %', 'excess', 'density'];
      printLine(formatTable(head, found.map(rowOf), 5));
    }
  });
}

function rowOf(topic: UncoveredTopic): string[] {
  return [
    topic.id,
    topicName(topic),
    topic.pipeline,
    topic.state,
    topic.firstSeen.toISOString(),
    percent(topic.trafficShare),
    `${percent(topic.shareLow)} to ${percent(topic.shareHigh)}`,
    `${topic.excessPoints.toFixed(1)} points`,
    topic.density.toFixed(2),
  ];
}

async function show(settings: CommandSettings, id: string, { json }: ConfiguredOptions): Promise<void> {
  await withCommandStore(settings, async (store) => {
    const topic = await findTopic(store, id);
    const [texts, windows] = await Promise.all([
      store.topics.texts(topic.pipeline, topic.examples),
      store.topics.windows(id),
    ]);
    if (json === true) return printJson(topicJson(topic, texts, windows));
    const causes = {
      new_demand: 'nobody asked it before',
      lost_content: 'people asked it before and found it',
    };
    printLine(
      [
        `${topicName(topic)} (${topic.id}) on ${topic.pipeline}, ${topic.state}${topic.note === null ? '' : `: ${topic.note}`}`,
        `${percent(topic.trafficShare)} of the traffic (95 % ${percent(topic.shareLow)} to ${percent(topic.shareHigh)}), ${topic.excessPoints.toFixed(1)} points more than in the baseline; density ${topic.density.toFixed(2)}; ${causes[topic.cause]}.`,
        `First seen ${topic.firstSeen.toISOString()}, last ${topic.windowEnd.toISOString()}, in ${windows.length} windows.`,
        ...(topic.segments.length === 0
          ? []
          : [
              `Mostly ${topic.segments.map(([segment, share]) => `${segment} (${percent(share)})`).join(', ')}.`,
            ]),
        '',
        'Example queries, the most typical first:',
        ...topic.examples.map((query) => `  ${texts.get(query) ?? query}`),
        '',
        'Nearest chunks:',
        ...topic.nearest.map(([chunk, similarity]) => `  ${similarity.toFixed(3)}  ${chunk}`),
        ...(topic.lostChunks.length === 0
          ? []
          : [
              '',
              'Chunks that people found before and that are gone:',
              ...topic.lostChunks.map((chunk) => `  ${chunk}`),
            ]),
      ].join('\n'),
    );
  });
}

async function change(
  settings: CommandSettings,
  id: string,
  state: TopicState,
  { note = null, json }: Omit<ChangeOptions, 'note'> & { readonly note?: string | null },
): Promise<void> {
  await withCommandStore(settings, async (store) => {
    await store.topics.setState(id, state, note, new Date());
    const topic = await findTopic(store, id);
    if (json === true) printJson(topicJson(topic, new Map()));
    else printLine(`${topicName(topic)} (${id}) is ${state}.`);
  });
}

/** @throws RecalldError topic_unknown */
async function findTopic({ topics }: CommandStore, id: string): Promise<UncoveredTopic> {
  const topic = await topics.find(id);
  if (topic !== null) return topic;
  throw new RecalldError(
    'topic_unknown',
    `There is no uncovered topic ${id}; \`recalld topics list\` shows those that are.`,
  );
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
