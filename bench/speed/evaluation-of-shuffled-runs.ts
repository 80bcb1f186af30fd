import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { createRandom } from '../../src/math/stats/random.ts';
import { program, withFolder } from './child.ts';
import { alternate, figure, type MeasureRow, timed } from './row.ts';

const RESULTS = 1000;
const JUDGED = 25;
const MEBIBYTE = 2 ** 20;

const documentOf = (query: number, place: number): string =>
  `doc-${String((query * 7919 + place * 104_729) % 5_000_011).padStart(7, '0')}`;

/** Writes a run file with lines in query order, a run file with the same lines in random order, and judgments. */
async function writeFiles(folder: string, queries: number) {
  const fileOf = (name: string): string => path.join(folder, name);
  const [qrels, sorted, shuffled] = [fileOf('qrels.txt'), fileOf('sorted.run'), fileOf('shuffled.run')];
  const lineOf = (index: number): string => {
    const [query, place] = [Math.floor(index / RESULTS), index % RESULTS];
    return `q${query} Q0 ${documentOf(query, place)} ${place + 1} ${((RESULTS - place) / 7).toFixed(6)} bench\n`;
  };
  const order = Uint32Array.from({ length: queries * RESULTS }, (_, i) => i);
  await writeLines(sorted, order, lineOf);
  const draws = new Uint32Array(order.length);
  createRandom(1)(draws);
  for (let i = order.length - 1; i > 0; i--) {
    const other = (draws[i] ?? 0) % (i + 1);
    [order[i], order[other]] = [order[other] ?? 0, order[i] ?? 0];
  }
  await writeLines(shuffled, order, lineOf);
  const judgments = Uint32Array.from({ length: queries * JUDGED }, (_, i) => i);
  await writeLines(qrels, judgments, (index) => {
    const [query, place] = [Math.floor(index / JUDGED), index % JUDGED];
    return `q${query} 0 ${documentOf(query, 3 * place)} ${place % 3}\n`;
  });
  return { qrels, sorted, shuffled };
}

const LINES_PER_WRITE = 10_000;

async function writeLines(file: string, order: Uint32Array, lineOf: (index: number) => string): Promise<void> {
  const output = createWriteStream(file);
  for (let start = 0; start < order.length; start += LINES_PER_WRITE) {
    const lines = Array.from(order.subarray(start, start + LINES_PER_WRITE), lineOf);
    if (!output.write(lines.join(''))) await once(output, 'drain');
  }
  output.end();
  await once(output, 'finish');
}

/** Evaluates a run in a process, and returns the peak resident memory, in MiB, that the process reports on exit. */
function peakMemory(qrels: string, run: string): number {
  const hook = 'process.on("exit", () => process.stderr.write(String(process.resourceUsage().maxRSS)))';
  const imported = `data:text/javascript,${encodeURIComponent(hook)}`;
  const args = ['--import', imported, program, 'eval', '--qrels', qrels, '--run', run, '--json'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the evaluation ended with ${status}: ${stderr}`);
  return (Number(stderr.trim()) * 1024) / MEBIBYTE;
}

/** Compares the evaluations of two run files with the same three million lines, in random order and in query order. */
export const evaluationOfShuffledRuns: MeasureRow = (quick) =>
  withFolder(async (folder) => {
    const queries = quick ? 30 : 3000;
    const { qrels, sorted, shuffled } = await writeFiles(folder, queries);
    const evaluate = (run: string) =>
      timed(() => {
        const { status, stderr } = spawnSync(process.execPath, [program, 'eval', '--qrels', qrels, '--run', run]);
        if (status !== 0) throw new Error(`the evaluation ended with ${status}: ${String(stderr)}`);
      });
    const ms = await alternate(quick ? 1 : 5, {
      sorted: () => evaluate(sorted),
      shuffled: () => evaluate(shuffled),
    });
    const memory = peakMemory(qrels, shuffled);
    const what = `recalld eval, ${queries} queries x ${RESULTS} results`;
    const [inOrder, byChance] = [
      figure(`${what}, lines sorted by query`, 'ms', ms.sorted),
      figure(`${what}, lines in random order`, 'ms', ms.shuffled),
    ];
    return {
      row: 'evaluation of shuffled runs',
      name: 'evaluation-of-shuffled-runs',
      figures: [inOrder, byChance, figure('largest memory (RSS), lines in random order', 'MiB', [memory])],
      bars: [
        {
          what: 'shuffled run, relative to a sorted run',
          value: byChance.median / inOrder.median,
          side: 'at most',
          limit: 2,
          unit: 'times',
        },
        { what: 'largest memory', value: memory, side: 'at most', limit: 250, unit: 'MiB' },
      ],
      notes: [],
    };
  });
