/**
 * Measures a daemon that has a history: its pages, routes, commands and jobs, and the database rows behind its metrics.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { createDb } from '../../src/app/database.ts';
import { jobCatalogue } from '../../src/app/jobs.ts';
import { openJobQueue } from '../../src/platform/queue/bullmq.ts';
import { type Daemon, databaseOf, program } from '../speed/child.ts';

export interface Answered {
  readonly what: string;
  /** Duration in milliseconds. */
  readonly ms: number;
  /** Size of the output. */
  readonly bytes: number;
}

const ROUNDS = 5;

/** @param incident id of an incident */
export function pagesOf(pipeline: string, incident: string, from: Date, until: Date): string[] {
  const range = `from=${minuteOf(from)}&until=${minuteOf(until)}`;
  const run = `run-${pipeline}-30`;
  return [
    `/?${range}`,
    ...['', '/golden', '/golden/faq/labels', '/density', '/traffic', '/index', '/judge', '/experiments'].map(
      (page) => `/pipelines/${pipeline}${page}?${range}`,
    ),
    `/checks?${range}`,
    `/checks?pipeline=${pipeline}&${range}`,
    `/deployments?${range}`,
    `/incidents/${incident}?${range}`,
    `/runs/${run}?${range}`,
    `/runs/${run}/queries/q3`,
  ];
}

export function routesOf(pipeline: string, from: Date, until: Date): string[] {
  const run = `run-${pipeline}-30`;
  return [
    '/v1/pipelines',
    `/v1/pipelines/${pipeline}/status`,
    '/v1/golden-sets',
    '/v1/golden-sets/faq',
    '/v1/golden-runs',
    `/v1/golden-runs?pipeline=${pipeline}`,
    `/v1/golden-runs/${run}`,
    `/v1/golden-runs/${run}/queries`,
    `/v1/golden-runs/run-${pipeline}-31/compare/${run}`,
    '/v1/checks',
    '/v1/checks/transitions',
    '/v1/incidents',
    '/v1/deployments',
    `/v1/density?pipeline=${pipeline}&from=${from.toISOString()}&until=${until.toISOString()}`,
    `/v1/uncovered-topics?pipeline=${pipeline}`,
    // The shorter of the two histories covers this window, but not the default window.
    `/v1/complaint-topics?pipeline=${pipeline}&days=7`,
    '/v1/feedback/summary',
    `/v1/judgments?pipeline=${pipeline}`,
    `/v1/shadows?pipeline=${pipeline}`,
    `/v1/index?pipeline=${pipeline}`,
    '/v1/audit',
    '/metrics',
  ];
}

function minuteOf(at: Date): string {
  return at.toISOString().slice(0, 16);
}

/**
 * Requests each path several times in sequence, and returns the median response time of each path.
 *
 * @throws Error unless the status is 200
 */
export async function readPages({ url }: Daemon, paths: readonly string[]): Promise<Answered[]> {
  const answered: Answered[] = [];
  for (const path of paths) {
    const times: number[] = [];
    let bytes = 0;
    // Ignores the first response, whose rows may come from disk.
    for (let round = 0; round <= ROUNDS; round += 1) {
      const startedAt = performance.now();
      const response = await fetch(`${url}${path}`);
      bytes = (await response.arrayBuffer()).byteLength;
      if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}`);
      if (round > 0) times.push(performance.now() - startedAt);
    }
    answered.push({ what: nameOf(path), ms: median(times), bytes });
  }
  return answered;
}

/** Returns a path in which the time range is removed and the id of an incident is replaced by a placeholder. */
function nameOf(path: string): string {
  const [name = path, query = ''] = path.split('?');
  const kept = query.split('&').filter((part) => part.startsWith('pipeline='));
  return [name.replace(/^(\/incidents\/)\d+$/, '$1:id'), ...kept].join('?');
}

/** Returns the longest response time of /livez, in milliseconds, while `work` runs. */
export async function watchLivez({ url }: Daemon, work: () => Promise<unknown>): Promise<number> {
  const over = new AbortController();
  let longest = 0;
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const startedAt = performance.now();
      await (await fetch(`${url}/livez`)).arrayBuffer();
      longest = Math.max(longest, performance.now() - startedAt);
      await pause(20);
    }
  };
  const watching = watch();
  await work();
  over.abort();
  await watching;
  return longest;
}

export function commandsOf(pipeline: string): string[][] {
  const run = `run-${pipeline}-30`;
  return [
    ['status'],
    ['checks'],
    ['checks', '--history'],
    ['runs', 'list'],
    ['runs', 'show', run],
    ['runs', 'compare', `run-${pipeline}-31`, run],
    ['diagnose', '--pipeline', pipeline],
    ['report', '--pipeline', pipeline, '--out', 'report.html', '--force'],
    ['deployments', 'list'],
    ['baselines', 'list'],
    ['golden', 'list'],
  ];
}

/** Runs each command twice and returns the shorter duration, because each duration includes the start of a process. */
export async function runCommands({ folder }: Daemon, commands: readonly (readonly string[])[]): Promise<Answered[]> {
  const answered: Answered[] = [];
  for (const command of commands) {
    const runs = [await runCommand(folder, command), await runCommand(folder, command)];
    // Exit code 1 means that a check failed.
    const failed = runs.find(({ code }) => code !== 0 && code !== 1);
    if (failed !== undefined)
      throw new Error(`recalld ${command.join(' ')} ended with ${failed.code}: ${failed.stderr}`);
    const name = command
      .filter((word) => !/^(run-|--(pipeline|out|force|from)|p\d|report\.|\d{4}-)/.test(word))
      .join(' ');
    answered.push({ what: `recalld ${name}`, ms: Math.min(...runs.map(({ ms }) => ms)), bytes: 0 });
  }
  return answered;
}

interface CommandRun {
  readonly code: number | null;
  readonly ms: number;
  readonly peakMb: number;
  readonly stderr: string;
}

/** @param stopAfterMs delay before SIGTERM is sent; the result's `ms` is then the time from SIGTERM to the end */
export async function runCommand(
  folder: string,
  command: readonly string[],
  stopAfterMs?: number,
): Promise<CommandRun> {
  let startedAt = performance.now();
  const child = spawn(process.execPath, [program, ...command], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let [stderr, peakMb] = ['', 0];
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const look = setInterval(() => (peakMb = Math.max(peakMb, residentPeakMb(child.pid))), 100);
  const ended = once(child, 'close') as Promise<[number | null]>;
  if (stopAfterMs !== undefined) {
    await pause(stopAfterMs);
    startedAt = performance.now();
    child.kill('SIGTERM');
  }
  const [code] = await ended;
  clearInterval(look);
  return { code, ms: performance.now() - startedAt, peakMb, stderr };
}

/** Peak resident memory of a process in MB; 0 if the system has no /proc. */
function residentPeakMb(pid: number | undefined): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/**
 * Runs every scheduled job and a manually requested golden run, one at a time; the daemon takes each of them from its
 * queue.
 */
export async function runJobs(daemon: Daemon, pipeline: string): Promise<Answered[]> {
  const backend = { kind: 'postgres', connection: databaseOf(daemon), name: 'bench queue' } as const;
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const queue = await openJobQueue({ backend, jobs: jobCatalogue, logger });
  try {
    const answered: Answered[] = [];
    for (const { name, cron } of jobCatalogue) {
      if (cron === null) continue;
      const before = await ranSoFar(daemon, name);
      for (const round of [1, 2, 3]) {
        const { count } = await ranSoFar(daemon, name);
        await queue.enqueue(name, {}, `bench-${name}-${round}-${Date.now()}`);
        while ((await ranSoFar(daemon, name)).count === count) await pause(100);
      }
      const after = await ranSoFar(daemon, name);
      answered.push({
        what: `job ${name}`,
        ms: ((after.sum - before.sum) * 1000) / (after.count - before.count),
        bytes: 0,
      });
    }
    return [...answered, { what: 'golden run', ms: await goldenRun(daemon, pipeline), bytes: 0 }];
  } finally {
    await queue.close();
  }
}

async function ranSoFar({ url }: Daemon, job: string): Promise<{ readonly count: number; readonly sum: number }> {
  const page = await (await fetch(`${url}/metrics`)).text();
  const read = (suffix: string): number =>
    Number(new RegExp(`^recalld_job_duration_seconds_${suffix}\\{task="${job}"\\} (\\S+)$`, 'm').exec(page)?.[1] ?? 0);
  return { count: read('count'), sum: read('sum') };
}

async function goldenRun({ url }: Daemon, pipeline: string): Promise<number> {
  const response = await fetch(`${url}/v1/golden-runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ pipeline, golden_set: 'faq' }),
  });
  const { run_id: id } = (await response.json()) as { run_id: string };
  for (;;) {
    const run = (await (await fetch(`${url}/v1/golden-runs/${id}`)).json()) as Record<string, string | null>;
    const [startedAt, finishedAt] = [run['started_at'], run['finished_at']];
    if (typeof finishedAt === 'string') return Date.parse(finishedAt) - Date.parse(startedAt ?? '');
    await pause(50);
  }
}

/** Reads the rows that each process reads every ten seconds. */
export async function readRowsOfMetrics(daemon: Daemon): Promise<Answered> {
  const pool = new Pool(databaseOf(daemon));
  try {
    const { golden, measurements, checks, incidents } = createDb(pool);
    const { runs, sets, ticks, rotations } = golden;
    const read = async (): Promise<void> => {
      await runs.latest();
      await runs.latestSentinels();
      await measurements.latest(new Date());
      await checks.statuses();
      await incidents.open();
      await sets.list();
      await ticks.skipTotals();
      await rotations.list({});
    };
    const times: number[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      const startedAt = performance.now();
      await read();
      if (round > 0) times.push(performance.now() - startedAt);
    }
    return { what: 'rows behind /metrics', ms: median(times), bytes: 0 };
  } finally {
    await pool.end();
  }
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}
