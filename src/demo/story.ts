/**
 * The demo as one story: a RAG service on real data, its users, the daemon that watches it, a healthy time and then one
 * fault after the other. Hours pass in moments, because the clock is the story's; everything else is as it is for a
 * user: the config is a file, queries are taken in and stored, the jobs are those of the daemon, and so are the alarms,
 * the diagnoses and the pages. At the end a daemon takes over in real time, and the last word has its API.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { type CommandSettings, commandSettings } from '../app/commands/command-store.ts';
import { roles, startMonitor } from '../app/serve.ts';
import { createClient } from '../client/client.ts';
import { systemClock } from '../core/system-clock.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import type { IncidentJson } from '../incidents/diagnosis/incident-schema.ts';
import type { Cause } from '../incidents/diagnosis/rules/cause.ts';
import { type ClosingRow, createAlertLog, reportEnd } from './alert-log.ts';
import { type Chapter, MISSING_TITLE } from './chapters.ts';
import { demoConfig, GOLDEN_HOURS, PIPELINE } from './demo-config.ts';
import { type Output } from './output.ts';
import { type DemoRagService, startDemoRagService } from './rag/spawn.ts';
import { reportChapter, reportHealthy } from './report-chapter.ts';
import { ask, type DemoTraffic, divideQuestions, NOTHING_MISSING } from './traffic.ts';
import { withWorld } from './world.ts';

/** Between two sessions. */
const PACE_MS = 1000;
const PATIENCE_MS = 30_000;

interface ContinueLiveSettings {
  readonly command: CommandSettings;
  /** Where the search of the RAG service answers. */
  readonly ragUrl: string;
  readonly traffic: DemoTraffic;
  /** Causes that were diagnosed, in the order of the story. */
  readonly causes: readonly Cause[];
  readonly signal: AbortSignal;
}

/**
 * Starts the daemon, lets a few users ask, and looks whether it knows of them and of what the story told.
 *
 * @param stay is done while users go on asking; it gets the address of the daemon
 * @returns what is not as it should be
 * @throws RecalldError as startMonitor
 */
async function continueLive(
  { command, ragUrl, traffic, causes, signal }: ContinueLiveSettings,
  stay: (url: string, problems: readonly string[]) => Promise<void>,
): Promise<void> {
  const monitor = await startMonitor({ ...command, roles });
  const users = startUsers({ url: monitor.url, ragUrl, traffic, signal });
  try {
    const problems = [
      ...(await causeProblems(monitor.url, causes, signal)),
      ...((await takesIn(monitor.url, signal)) ? [] : ['the daemon did not take in what users asked.']),
    ];
    await stay(monitor.url, problems);
  } finally {
    await users.stop();
    await monitor.stop();
  }
}

type UserSettings = Pick<ContinueLiveSettings, 'ragUrl' | 'traffic' | 'signal'> & { readonly url: string };

/** Users who ask one after the other, and a RAG service that tells recalld of it by its client. */
function startUsers({ url, ragUrl, traffic, signal }: UserSettings): { stop(): Promise<void> } {
  const client = createClient({ url, pipeline: PIPELINE });
  const stopping = new AbortController();
  const until = AbortSignal.any([signal, stopping.signal]);
  const askOn = async (): Promise<void> => {
    for (;;) {
      const { id: sessionId, questions } = traffic.nextSession(NOTHING_MISSING);
      for (const { text } of questions)
        client.track({ text, sessionId, topK: 10, ...(await ask(ragUrl, text, until)) });
      await sleep(PACE_MS, undefined, { signal: until });
    }
  };
  // It goes on until it is stopped.
  const asking = askOn().catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await asking;
      await client.close();
    },
  };
}

/** The causes are the history of the daemon, in the order of the story, and none of them holds any more. */
async function causeProblems(url: string, causes: readonly Cause[], signal: AbortSignal): Promise<string[]> {
  const response = await fetch(`${url}/v1/incidents?pipeline=${PIPELINE}&limit=100`, { signal });
  const { items } = (await response.json()) as { items: readonly IncidentJson[] };
  const named = items.map(({ cause }) => cause).toReversed();
  return [
    ...(named.join() === causes.join()
      ? []
      : [`the causes of the incidents that the daemon lists are ${named.join(', ')}.`]),
    ...(items.some(({ closed_at: closedAt }) => closedAt === null) ? ['an incident is still open.'] : []),
  ];
}

/** Whether /metrics comes to count queries of users. */
async function takesIn(url: string, signal: AbortSignal): Promise<boolean> {
  const deadline = systemClock.monotonicMs() + PATIENCE_MS;
  while (systemClock.monotonicMs() < deadline) {
    const text = await (await fetch(`${url}/metrics`, { signal })).text();
    if (/^recalld_queries_total\{pipeline="demo",outcome="ok"\} [1-9]/m.test(text)) return true;
    await systemClock.sleep(200, signal);
  }
  return false;
}

export interface StorySettings {
  readonly port: number;
  /** None: the healthy part alone. */
  readonly chapters: readonly Chapter[];
  /** Stay up with the last fault mended until `signal` aborts. */
  readonly stay: boolean;
  readonly signal: AbortSignal;
  readonly output: Output;
}

const QUARTER_MS = 15 * MINUTE_MS;
const BLOCK_MS = 8 * HOUR_MS;
/** A baseline is learnt of the first day; the rest is held against it before the first fault. */
const MIN_HEALTHY_HOURS = 28;
/** Of the day of those who ask: the busy hours come after it. */
const FIRST_FAULT_HOUR = 4;
/** Of golden runs, once time is real. */
const EVERY_MINUTE = '* * * * *';

/**
 * Tells the story.
 *
 * @returns whether every step happened as it should
 * @throws RecalldError when a part does not start, and the reason of `signal`
 */
export async function reportStory(settings: StorySettings): Promise<boolean> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-demo-'));
  try {
    const rag = await startDemoRagService({ signal: settings.signal });
    try {
      return await reportFaultsAndStay(settings, rag, folder);
    } finally {
      await rag.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function reportFaultsAndStay(settings: StorySettings, rag: DemoRagService, folder: string): Promise<boolean> {
  const { output, stay, signal } = settings;
  const startedMs = systemClock.monotonicMs();
  const told = await reportFaults(settings, rag, folder);
  // The links of the story lead to the same port.
  const command = await writeConfig(rag, told.port, folder, EVERY_MINUTE, signal);
  const causes = told.rows.flatMap(({ cause }) => cause ?? []);
  let isTold = false;
  await continueLive({ command, ragUrl: rag.url, traffic: told.traffic, causes, signal }, async (url, found) => {
    const problems = [...told.problems, ...found];
    isTold = problems.length === 0;
    const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
    reportEnd({ rows: told.rows, problems, seconds, url, configFile: configFileIn(folder), stay }, output);
    if (stay) await aborted(signal);
  });
  return isTold;
}

interface FaultsTold {
  readonly rows: readonly ClosingRow[];
  /** What did not happen as it should. */
  readonly problems: readonly string[];
  readonly port: number;
  readonly traffic: DemoTraffic;
}

async function reportFaults(
  { port, chapters, output, signal }: StorySettings,
  rag: DemoRagService,
  folder: string,
): Promise<FaultsTold> {
  const documents = await rag.setFault('none', []);
  const questions = await divideQuestions();
  const { start, healthyHours, judgedAfter } = timesOf(chapters);
  const cron = `0 ${start.getUTCHours() % GOLDEN_HOURS}-23/${GOLDEN_HOURS} * * *`;
  const command = await writeConfig(rag, port, folder, cron, signal);
  const firstHour = FIRST_FAULT_HOUR - healthyHours;
  return withWorld({ command, rag, questions, start, firstHour, judgedAfter }, async (world) => {
    output.print(
      `A RAG service answers from ${documents} Wikipedia passages in pgvector, none about ${MISSING_TITLE}.`,
    );
    output.print(
      `recalld reruns ${questions.golden.length} golden questions every ${GOLDEN_HOURS} hours and watches what its users ask.`,
    );
    output.print(`Console: ${world.daemon.url}/`);
    const log = createAlertLog();
    const problems = [...(await reportHealthy({ world, log, output }, healthyHours))];
    const rows: ClosingRow[] = [];
    for (const [index, chapter] of chapters.entries()) {
      const before = index === 0 ? 0 : log.raised.length;
      const place = chapters.length === 1 ? 'Fault' : `${index + 1} of ${chapters.length}`;
      const told = await reportChapter({ world, log, output }, chapter, before, place);
      rows.push(told.row);
      problems.push(...told.problems);
    }
    await world.catchUp();
    return { rows, problems, port: Number(new URL(world.daemon.url).port), traffic: world.traffic };
  });
}

/**
 * The story ends with the last full hour. It begins in the middle of one of the blocks of eight hours (UTC) by which a
 * baseline is held against itself, or up to an hour later, as golden runs need it: then the first 25 hours are as many
 * of even blocks as of odd ones. So it is nearly the same story whatever the time of day.
 */
function timesOf(chapters: readonly Chapter[]): {
  readonly start: Date;
  readonly healthyHours: number;
  /** Hours after which live queries are judged. */
  readonly judgedAfter: number;
} {
  const faultsMs = HOUR_MS * hoursOf(chapters);
  const endMs = Math.floor((systemClock.now().getTime() - QUARTER_MS) / HOUR_MS) * HOUR_MS;
  const latestMs = endMs - faultsMs - MIN_HEALTHY_HOURS * HOUR_MS;
  const middleMs = Math.floor((latestMs - BLOCK_MS / 2) / BLOCK_MS) * BLOCK_MS + BLOCK_MS / 2;
  const startMs = middleMs + ((latestMs - middleMs) % (GOLDEN_HOURS * HOUR_MS));
  const healthyHours = (endMs - faultsMs - startMs) / HOUR_MS;
  const judged = chapters.findIndex(({ judgedHours }) => judgedHours !== null);
  const { judgedHours = null, leadHours = 0 } = chapters[judged] ?? {};
  const judgedAfter =
    judgedHours === null
      ? Number.POSITIVE_INFINITY
      : healthyHours + hoursOf(chapters.slice(0, judged)) + leadHours - judgedHours;
  return { start: new Date(startMs), healthyHours, judgedAfter };
}

function hoursOf(chapters: readonly Chapter[]): number {
  return chapters.reduce(
    (sum, { leadHours, faultHours, recoveryHours }) => sum + leadHours + faultHours + recoveryHours,
    0,
  );
}

function configFileIn(folder: string): string {
  return path.join(folder, 'recalld.yaml');
}

async function writeConfig(
  rag: DemoRagService,
  port: number,
  folder: string,
  cron: string,
  signal: AbortSignal,
): Promise<CommandSettings> {
  const file = configFileIn(folder);
  await writeFile(file, stringify(demoConfig({ rag, port, folder, cron })));
  return commandSettings(file, signal);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
