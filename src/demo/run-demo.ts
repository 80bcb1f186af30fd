/**
 * The demo: a RAG service with real data, its simulated users, and the daemon that monitors the service. After some
 * healthy hours, a series of incidents occurs on a simulated clock. At the end, a daemon takes over in real time.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { type CommandSettings, commandSettings } from '../app/commands/command-store.ts';
import { aborted, roles, startMonitor } from '../app/serve.ts';
import { createSimulatedClock } from '../app/simulated-clock.ts';
import { withSimulatedDaemon } from '../app/simulated-daemon.ts';
import { createClient } from '../client/client.ts';
import { systemClock } from '../core/system-clock.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import type { IncidentJson } from '../incidents/diagnosis/incident-schema.ts';
import type { Cause } from '../incidents/diagnosis/rules/cause.ts';
import { createDemoAgent } from './agent.ts';
import { createAgentTracer } from './agent-spans.ts';
import { createAlertLog, printNextSteps, printSummary, type SummaryRow } from './alert-log.ts';
import { type DemoKinds, demoConfig, GOLDEN_HOURS, PIPELINE, TENANT } from './demo-config.ts';
import { type Output } from './output.ts';
import { type DemoRagService, startDemoRagService } from './rag/spawn.ts';
import { runHealthyHours, runScenario } from './run-scenario.ts';
import { MISSING_TITLE, type Scenario } from './scenarios.ts';
import { ask, type DemoTraffic, divideQuestions, NOTHING_MISSING } from './traffic.ts';
import { createWorld } from './world.ts';

const SESSION_PAUSE_MS = 1000;
const INGEST_TIMEOUT_MS = 30_000;

/**
 * Starts simulated users. The recalld client reports the users' queries, or an agent exports the spans of each turn.
 */
function startUsers(
  url: string,
  ragUrl: string,
  traffic: DemoTraffic,
  hasAgent: boolean,
  signal: AbortSignal,
): { stop(): Promise<void> } {
  const client = createClient({ url, pipeline: PIPELINE });
  const stopping = new AbortController();
  const until = AbortSignal.any([signal, stopping.signal]);
  const searchNow = (text: string) => ask(ragUrl, text, until);
  const keepAsking = async (): Promise<void> => {
    const [agent, tracer] = hasAgent ? [await createDemoAgent(searchNow), await createAgentTracer()] : [null, null];
    for (;;) {
      const { id: sessionId, questions } = traffic.nextSession(NOTHING_MISSING);
      for (const [turn, question] of questions.entries()) {
        const { text } = question;
        if (agent === null)
          client.track({ text, sessionId, topK: 10, segments: { tenant: TENANT }, ...(await searchNow(text)) });
        else {
          const occurredAt = systemClock.now();
          await tracer.send(url, [await agent.turn({ question, sessionId, turn, occurredAt })], until);
        }
      }
      await sleep(SESSION_PAUSE_MS, undefined, { signal: until });
    }
  };
  // Rejects when stopped.
  const asking = keepAsking().catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await asking;
      await client.close();
    },
  };
}

/** Verifies that the daemon lists incidents with these causes, all closed. @returns problems */
async function causeProblems(url: string, causes: readonly Cause[], signal: AbortSignal): Promise<string[]> {
  const response = await fetch(`${url}/v1/incidents?pipeline=${PIPELINE}&limit=100`, { signal });
  const { items } = (await response.json()) as { items: readonly IncidentJson[] };
  // On a busy machine, recalld also reports, correctly, that it is short of processor time.
  const ofService = items.filter(({ cause }) => cause !== 'recalld');
  const named = ofService.map(({ cause }) => cause).toReversed();
  return [
    ...(named.join() === causes.join()
      ? []
      : [`the causes of the listed incidents are ${named.join(', ')}, not ${causes.join(', ')}.`]),
    ...(ofService.some(({ closed_at: closedAt }) => closedAt === null) ? ['an incident is still open.'] : []),
  ];
}

/** Waits until /metrics counts user queries. @returns false on timeout */
async function ingests(url: string, signal: AbortSignal): Promise<boolean> {
  const deadline = systemClock.monotonicMs() + INGEST_TIMEOUT_MS;
  while (systemClock.monotonicMs() < deadline) {
    const text = await (await fetch(`${url}/metrics`, { signal })).text();
    if (/^recalld_queries_total\{pipeline="demo",outcome="ok"\} [1-9]/m.test(text)) return true;
    await systemClock.sleep(200, signal);
  }
  return false;
}

interface DemoParts {
  readonly port: number;
  /** Scenarios to run; empty to run only the healthy hours. */
  readonly scenarios: readonly Scenario[];
  /** True to keep the daemon running after the last incident, until `signal` aborts. */
  readonly stay: boolean;
  readonly signal: AbortSignal;
  readonly output: Output;
}

/** Time from the end of an hour until its results are available. */
const RESULT_DELAY_MS = 15 * MINUTE_MS;
const BLOCK_MS = 8 * HOUR_MS;
/**
 * Minimum number of healthy hours: the first day is the baseline for query density, and the remaining hours are
 * compared with that baseline.
 */
const MIN_HEALTHY_HOURS = 28;
/** Hour of the users' day at which the first fault starts; the busy hours follow. */
const FIRST_FAULT_HOUR = 4;
/** Schedule of golden runs in real time. */
const EVERY_MINUTE = '* * * * *';

/**
 * @returns true if every step went as expected
 * @throws RecalldError if the RAG service or the daemon does not start; `signal.reason` if `signal` aborts
 */
export async function runDemo(demo: DemoParts): Promise<boolean> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-demo-'));
  try {
    const rag = await startDemoRagService({ signal: demo.signal });
    try {
      return await runIncidentsAndStay(demo, rag, folder);
    } finally {
      await rag.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Simulates the incidents, then starts the real daemon and simulated users. Verifies that this daemon lists the
 * incidents and ingests queries.
 */
async function runIncidentsAndStay(demo: DemoParts, rag: DemoRagService, folder: string): Promise<boolean> {
  const { output, stay, signal } = demo;
  const startedMs = systemClock.monotonicMs();
  const kinds = {
    // Without an agent, each question causes one retrieval.
    hasAgent: demo.scenarios.some(({ name }) => name === 'agent'),
    isJudged: demo.scenarios.some(({ judgedHours }) => judgedHours !== null),
  };
  const { rows, traffic, port, ...found } = await runIncidents(demo, rag, folder, kinds);
  // The daemon keeps its port, so that links printed earlier still work.
  const command = await writeConfig(rag, port, folder, EVERY_MINUTE, kinds, signal);
  const causes = rows.flatMap(({ cause }) => cause ?? []);
  const monitor = await startMonitor({ ...command, roles });
  const { url } = monitor;
  const users = startUsers(url, rag.url, traffic, kinds.hasAgent, signal);
  try {
    const problems = [
      ...found.problems,
      ...(await causeProblems(url, causes, signal)),
      ...((await ingests(url, signal)) ? [] : ['the daemon that took over did not ingest live queries.']),
    ];
    printSummary(rows, problems, (systemClock.monotonicMs() - startedMs) / 1000, output);
    if (stay) {
      printNextSteps(url, configFileIn(folder), output);
      await aborted(signal);
    }
    return problems.length === 0;
  } finally {
    await users.stop();
    await monitor.stop();
  }
}

async function runIncidents(
  { port, scenarios, output, signal }: DemoParts,
  rag: DemoRagService,
  folder: string,
  kinds: DemoKinds,
) {
  const documents = await rag.setFault('none', []);
  const questions = await divideQuestions();
  const { start, healthyHours, ...times } = timesOf(scenarios);
  const cron = `0 ${start.getUTCHours() % GOLDEN_HOURS}-23/${GOLDEN_HOURS} * * *`;
  const command = await writeConfig(rag, port, folder, cron, kinds, signal);
  const clock = createSimulatedClock(start);
  return withSimulatedDaemon(command, clock, async (daemon) => {
    const world = await createWorld(daemon, clock, rag, questions, { start, ...times }, kinds.hasAgent, signal);
    output.print(
      `A RAG service searches ${documents} Wikipedia passages in pgvector. No passage is about ${MISSING_TITLE}.`,
    );
    output.print(
      `recalld runs ${questions.golden.length} golden queries every ${GOLDEN_HOURS} hours and monitors live queries.`,
    );
    output.print(`Console: ${world.daemon.url}/`);
    const log = createAlertLog();
    const problems = [...(await runHealthyHours({ world, log, output }, healthyHours))];
    const rows: SummaryRow[] = [];
    for (const [index, scenario] of scenarios.entries()) {
      const before = index === 0 ? 0 : log.raised.length;
      const place = `${index + 1} of ${scenarios.length}`;
      const result = await runScenario({ world, log, output }, scenario, before, place);
      rows.push(result.row);
      problems.push(...result.problems);
    }
    await world.catchUp();
    return { rows, problems, port: Number(new URL(world.daemon.url).port), traffic: world.traffic };
  });
}

/**
 * Chooses the simulated start so that the simulation ends with the last full hour. The simulation begins in the middle
 * of an eight-hour block (UTC), or up to an hour later if the schedule of golden runs requires it. The demo is
 * therefore nearly the same at any time of day. A density baseline ranks even blocks among odd blocks and vice versa;
 * with this start, the first 25 hours contain as many even blocks as odd blocks.
 *
 * @returns `judgedAfter`: number of simulated hours after which the grading of live queries starts
 */
function timesOf(scenarios: readonly Scenario[]) {
  const faultsMs = HOUR_MS * hoursOf(scenarios);
  const endMs = Math.floor((systemClock.now().getTime() - RESULT_DELAY_MS) / HOUR_MS) * HOUR_MS;
  const latestMs = endMs - faultsMs - MIN_HEALTHY_HOURS * HOUR_MS;
  const middleMs = Math.floor((latestMs - BLOCK_MS / 2) / BLOCK_MS) * BLOCK_MS + BLOCK_MS / 2;
  const startMs = middleMs + ((latestMs - middleMs) % (GOLDEN_HOURS * HOUR_MS));
  const healthyHours = (endMs - faultsMs - startMs) / HOUR_MS;
  const judged = scenarios.findIndex(({ judgedHours }) => judgedHours !== null);
  const { judgedHours = null, leadHours = 0 } = scenarios[judged] ?? {};
  const judgedAfter =
    judgedHours === null
      ? Number.POSITIVE_INFINITY
      : healthyHours + hoursOf(scenarios.slice(0, judged)) + leadHours - judgedHours;
  return { start: new Date(startMs), healthyHours, firstHour: FIRST_FAULT_HOUR - healthyHours, judgedAfter };
}

function hoursOf(scenarios: readonly Scenario[]): number {
  return scenarios.reduce(
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
  kinds: DemoKinds,
  signal: AbortSignal,
): Promise<CommandSettings> {
  const file = configFileIn(folder);
  await writeFile(file, stringify(demoConfig(rag, port, folder, cron, kinds)));
  return commandSettings(file, signal);
}
