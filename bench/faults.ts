/**
 * The fault benchmark: the real daemon on a simulated clock, with real texts, stores and retrievers, and faults whose
 * authors did not know how the diagnosis works. `bench/faults/README.md` explains how it works and how to add a fault.
 *
 *     npx tsx bench/faults.ts --split training|test|FILE [--only KIND] [--part I/N] [--out FILE]
 *     npx tsx bench/faults.ts --summary FILE [FILE ...] --split NAME --out RESULT
 *     npx tsx bench/faults.ts --draw training|test --seed N
 *
 * The first form runs worlds and appends one line of JSON per world to FILE; it skips worlds that FILE already
 * contains. The second form summarizes the files of the first form. The third form regenerates a split; the stored test
 * split is sealed and does not change.
 */

import { setMaxListeners } from 'node:events';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { openBench } from './faults/bench.ts';
import { readKinds } from './faults/kinds.ts';
import type { WorldRecord } from './faults/record.ts';
import { runWorld, type WorldPlan } from './faults/run-world.ts';
import { shapeName } from './faults/shape.ts';
import { drawSplit, readSplit, sealFile, sha256Of, splitFile, splitNames, writeText } from './faults/splits.ts';
import { summarise } from './faults/summary.ts';
import { provenance, writeResult } from './result-file.ts';

// Removes the limit on listeners, because sixteen concurrent calls share one signal.
setMaxListeners(0);

/** Maximum number of attempts for a world that other processes on the machine disturb. */
const ATTEMPTS = 3;

function valueOf(flag: string): string | null {
  const at = process.argv.indexOf(flag);
  return at === -1 ? null : (process.argv[at + 1] ?? null);
}

function readRecords(file: string): WorldRecord[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as WorldRecord);
}

/**
 * Assigns all worlds of a shape to the same part, because they share the history of the shape. Shapes with small golden
 * sets come first. Within a shape, seeds determine the order, so that the worlds that a stopped run has completed are a
 * random sample of the shape's worlds.
 */
function partOf(worlds: readonly WorldPlan[], part: string | null): WorldPlan[] {
  const [index = 1, count = 1] = (part ?? '1/1').split('/').map(Number);
  const shapes = [...new Map(worlds.map(({ shape }) => [shapeName(shape), shape])).entries()]
    .toSorted((a, b) => a[1].golden - b[1].golden || (a[0] < b[0] ? -1 : 1))
    .map(([name]) => name);
  const rank = ({ shape }: WorldPlan): number => shapes.indexOf(shapeName(shape));
  return worlds
    .filter((world) => rank(world) % count === index - 1)
    .toSorted((a, b) => rank(a) - rank(b) || a.seed - b.seed);
}

async function draw(name: string): Promise<void> {
  const split = splitNames.find((one) => one === name);
  if (split === undefined) throw new Error(`--draw takes ${splitNames.join(' or ')}.`);
  if (split === 'test' && existsSync(sealFile))
    throw new Error('The test split is sealed; a new one needs a new version of the benchmark.');
  const text = writeText(drawSplit(split, Number(valueOf('--seed')), await readKinds()));
  writeFileSync(splitFile(split), text);
  if (split === 'test') writeFileSync(sealFile, `${sha256Of(text)}  test.json\n`);
}

/**
 * Daemon jobs fail only on a busy machine, never because of a fault, so a world with a failed job is run again. If jobs
 * also fail on the third attempt, the world is recorded with its failed jobs and excluded from the summary.
 */
async function undisturbed(work: () => Promise<WorldRecord>): Promise<WorldRecord> {
  for (let attempt = 1; ; attempt++) {
    const record = await work();
    if (record.failedJobs.length === 0 || attempt === ATTEMPTS) return record;
  }
}

async function run(): Promise<void> {
  const name = valueOf('--split') ?? 'training';
  const only = valueOf('--only');
  const out = valueOf('--out');
  const done = new Set(out === null ? [] : readRecords(out).map(({ id }) => id));
  const { worlds } = readSplit(name);
  const wanted = worlds.filter(({ faults }) => only === null || faults.some(({ kind }) => kind === only));
  const plans = partOf(wanted, valueOf('--part')).filter(({ id }) => !done.has(id));
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort());
  const [bench, kinds] = await Promise.all([openBench(stopping.signal), readKinds()]);
  try {
    for (const [at, plan] of plans.entries()) {
      if (stopping.signal.aborted) break;
      try {
        const record = await undisturbed(() => runWorld(bench, plan, kinds));
        const line = JSON.stringify(record);
        if (out === null) process.stdout.write(`${line}\n`);
        else appendFileSync(out, `${line}\n`);
        process.stderr.write(`${at + 1}/${plans.length} ${plan.id}: ${record.processSeconds.toFixed(1)} s\n`);
      } catch (error) {
        // A failure in one world must not discard the results of the other worlds.
        process.stderr.write(`${at + 1}/${plans.length} ${plan.id} failed: ${String(error)}\n`);
        process.exitCode = 1;
      }
    }
  } finally {
    await bench.stop();
  }
}

function summariseFiles(): void {
  const startedAt = performance.now();
  const from = process.argv.indexOf('--summary') + 1;
  const end = process.argv.findIndex((value, at) => at >= from && value.startsWith('--'));
  const files = process.argv.slice(from, end === -1 ? undefined : end);
  const records = files.flatMap(readRecords);
  const split = valueOf('--split') ?? 'training';
  const summary = summarise(records);
  const seconds = Math.round(records.reduce((sum, one) => sum + one.processSeconds, 0));
  const made = { ...provenance(`npx tsx bench/faults.ts --split ${split}`, 0, startedAt), seconds };
  const out = valueOf('--out');
  if (out === null) process.stdout.write(`${JSON.stringify(summary, null, 1)}\n`);
  else
    writeResult(out, {
      provenance: made,
      split,
      planned: readSplit(split).worlds.length,
      truth: 'text',
      seal: split === 'test' ? readFileSync(sealFile, 'utf8').split(' ')[0] : null,
      summary,
    });
}

const drawn = valueOf('--draw');
if (drawn !== null) await draw(drawn);
else if (process.argv.includes('--summary')) summariseFiles();
else await run();
