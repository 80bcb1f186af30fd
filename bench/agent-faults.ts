/**
 * Measures how often recalld detects agent faults and names the right cause, and how often alerts fire without a fault:
 * `npx tsx bench/agent-faults.ts [--quick] [--scale N] [--out FILE] [--daemon]`. A simulated agent that searches the
 * demo texts handles 100 episodes an hour. The daemon's code computes the measures, detects changes and diagnoses the
 * cause. docs/explanation/agent-faults.md shows the results. With `--daemon`, the benchmark instead sends one short
 * stream of each kind through the simulated daemon, and compares the daemon's measures and diagnosed cause with the
 * expected ones.
 */
import { execFile } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';
import { HOUR_MS } from '../src/core/time.ts';
import { type AgentFault, betterRetriever, drawHabits, faults, nothingWrong, retrieverFaults } from './agents/agent.ts';
import { runDaemonStream } from './agents/daemon.ts';
import { type Library, openLibrary } from './agents/library.ts';
import {
  createTraffic,
  EPISODES_PER_HOUR,
  measureWindow,
  runStream,
  type Stream,
  type TimedEpisode,
} from './agents/stream.ts';
import { randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

const SEED = 1;
const STREAMS = 100;
const QUIET_DAYS = 30;
/** The default of `live.window`. */
const WINDOW_HOURS = 24;
const AGENT_CAUSES: ReadonlySet<string> = new Set(['query_rewriting', 'agent_loop']);

export interface CalledFault {
  readonly name: string;
  readonly does: string;
  /** Null if there is no fault. */
  readonly cause: string | null;
  readonly streams: number;
  /** Number of streams in which an alert fired within a day. */
  readonly called: number;
  /** Median number of hours from the fault to the first alert; null if no alert fired. */
  readonly median_hours: number | null;
  /** Number of streams whose first alert message named only the right cause. */
  readonly right: number;
  /** Number of streams whose alert named only the right cause two hours after the first message. */
  readonly right_later: number;
  /** Number of streams whose alert named an agent fault, in the first message or later. */
  readonly called_the_agents: number;
}

export interface Coverage {
  readonly measure: string;
  readonly agent: string;
  readonly windows: number;
  readonly covered: number;
}

export interface AgentFaultsResult {
  readonly provenance: Provenance;
  readonly episodes_per_hour: number;
  readonly window_hours: number;
  readonly quiet: {
    readonly streams: number;
    readonly days: number;
    readonly false_pages: number;
    readonly budget: number;
  };
  /**
   * Mean number of calls per episode by a healthy agent: `healthy` with the usual retriever, `better` with a better
   * one.
   */
  readonly calls: { readonly healthy: number; readonly better: number };
  readonly faults: readonly CalledFault[];
  readonly coverage: readonly Coverage[];
}

const all: readonly (AgentFault & { readonly cause?: string })[] = [...faults, ...retrieverFaults, betterRetriever];

function summarize(fault: AgentFault & { readonly cause?: string }, streams: readonly Stream[]): CalledFault {
  const outcomes = streams.flatMap(({ called }) => called[fault.name] ?? []);
  const called = outcomes.flatMap((one) => (one.hours === null ? [] : [{ ...one, hours: one.hours }]));
  const hours = called.map((one) => one.hours).toSorted((a, b) => a - b);
  const median = hours[Math.floor(hours.length / 2)];
  const named = ({ first, later }: (typeof called)[number]) => [first, later].flatMap((cause) => cause ?? []);
  return {
    name: fault.name,
    does: fault.does,
    cause: fault.cause ?? null,
    streams: outcomes.length,
    called: called.length,
    median_hours: median === undefined ? null : Math.round(10 * median) / 10,
    right: called.filter(({ first }) => first === fault.cause).length,
    right_later: called.filter(({ later }) => later === fault.cause).length,
    called_the_agents: called.filter((one) => named(one).some((cause) => AGENT_CAUSES.has(cause))).length,
  };
}

const COUNTED_HOURS = 100;

function callsPerEpisode(library: Library, fault: AgentFault): number {
  const random = randomNumbers(8_000_000);
  const traffic = createTraffic(library, drawHabits(random), random, false);
  const episodes = Array.from({ length: COUNTED_HOURS }, () => traffic.next(fault)).flat();
  return Math.round((100 * episodes.reduce((sum, { calls }) => sum + calls.length, 0)) / episodes.length) / 100;
}

/**
 * Measures how often the interval of an hourly measure contains the true value, as determined by a long simulation.
 * Each fault is simulated with a different agent; the popularity of topics is constant.
 */
function measureCoverage(library: Library, windows: number): Coverage[] {
  return [nothingWrong, ...faults].flatMap((fault, place) => {
    const random = randomNumbers(9_000_000 + place);
    const habits = drawHabits(random);
    const traffic = createTraffic(library, habits, random, false);
    const hours: TimedEpisode[][] = [];
    for (let hour = 0; hour < windows; hour++) hours.push(traffic.next(fault));
    const truth = new Map(measureWindow(hours.flat(), 0, windows * HOUR_MS).map((one) => [one.measure, one.value]));
    const values = hours.flatMap((episodes, hour) => measureWindow(episodes, hour * HOUR_MS, (hour + 1) * HOUR_MS));
    return [...truth].flatMap(([measure, value]) => {
      // If a share is 0 throughout the simulation, there is no interval to test.
      if (value === 0) return [];
      const own = values.filter((one) => one.measure === measure);
      const covered = own.filter(({ ciLow, ciHigh }) => (ciLow ?? 0) <= value && (ciHigh ?? 0) >= value).length;
      return [{ measure, agent: fault.name, windows: own.length, covered }];
    });
  });
}

/** Number of processes among which the streams are divided. */
const PARTS = 2;

function runPart(library: Library, part: number, streams: number, days: number): Stream[] {
  const found: Stream[] = [];
  for (let seed = SEED + part; seed < SEED + streams; seed += PARTS) {
    found.push(runStream(library, all, { seed, days, windowMs: WINDOW_HOURS * HOUR_MS }));
    if (found.length % 10 === 0) {
      const counts = all.map((fault) => summarize(fault, found)).map((one) => `${one.name} ${one.called}/${one.right}`);
      say(`part ${part}: ${found.length} streams, called and right: ${counts.join(', ')}`);
    }
  }
  return found;
}

async function startPart(part: number, streams: number, days: number): Promise<Stream[]> {
  const options = ['--part', part, '--streams', streams, '--days', days].map(String);
  const child = promisify(execFile)(process.execPath, ['--import', 'tsx', import.meta.filename, ...options], {
    maxBuffer: 2 ** 26,
  });
  child.child.stderr?.pipe(process.stderr);
  return JSON.parse((await child).stdout) as Stream[];
}

export async function measureAgentFaults(streams: number, days: number, windows: number) {
  const starting = Array.from({ length: PARTS }, (_, part) => startPart(part, streams, days));
  const found = (await Promise.all(starting)).flat();
  const library = await openLibrary();
  return {
    episodes_per_hour: EPISODES_PER_HOUR,
    window_hours: WINDOW_HOURS,
    quiet: {
      streams,
      days,
      false_pages: found.reduce((sum, { falsePages }) => sum + falsePages, 0),
      budget: Math.floor((streams * days) / 90),
    },
    calls: { healthy: callsPerEpisode(library, nothingWrong), better: callsPerEpisode(library, betterRetriever) },
    faults: all.map((fault) => summarize(fault, found)),
    coverage: measureCoverage(library, windows),
  };
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const { values } = parseArgs({
  strict: false,
  options: { part: { type: 'string' }, streams: { type: 'string' }, days: { type: 'string' } },
});
const isCommand = process.argv[1]?.endsWith('agent-faults.ts') === true;
if (isCommand && values.part !== undefined) {
  const part = runPart(await openLibrary(), Number(values.part), Number(values.streams), Number(values.days));
  process.stdout.write(JSON.stringify(part));
} else if (isCommand && process.argv.includes('--daemon')) {
  const library = await openLibrary();
  for (const fault of [nothingWrong, ...all]) {
    const { expected, cause, compared, difference } = await runDaemonStream(library, fault, SEED);
    say(`${fault.name}: cause ${cause} (expected ${expected}), ${compared} measures differ by at most ${difference}`);
  }
} else if (isCommand) {
  const { quick, out, scale } = readArguments(process.argv.slice(2), 'agent-faults');
  const startedAt = performance.now();
  const result = quick
    ? await measureAgentFaults(2, 17, 200)
    : await measureAgentFaults(STREAMS * scale, QUIET_DAYS, 500);
  const { quiet, coverage } = result;
  say(
    `${quiet.false_pages} false pages in ${quiet.streams} quiet streams of ${quiet.days} days (budget ${quiet.budget})`,
  );
  for (const one of result.faults)
    say(
      `${one.name}: called ${one.called} of ${one.streams} (median ${one.median_hours} h), right ${one.right} (later ${one.right_later}), the agent's ${one.called_the_agents}`,
    );
  for (const { measure, agent, windows, covered } of coverage)
    say(`${measure}, ${agent}: ${((100 * covered) / windows).toFixed(1)} % of ${windows}`);
  if (out !== null) {
    const file: AgentFaultsResult = {
      provenance: provenance(commandOf('agent-faults', scale), SEED, startedAt),
      ...result,
    };
    writeResult(out, file);
  }
}
