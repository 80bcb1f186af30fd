import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { program, run, withFolder } from './child.ts';
import { judgedRankings } from './evaluation.ts';
import { alternate, type Bar, figure, type MeasureRow, timed } from './row.ts';

const METRICS = 'ndcg@10,mrr,map,recall@10,recall@20,recall@50,recall@100';
const THEIRS = ['-m', 'ndcg_cut.10', '-m', 'recip_rank', '-m', 'map', '-m', 'recall.10,20,50,100'];
/**
 * A program that only reads the two files and splits each line into fields, as a lower limit for the duration of any
 * evaluation in Node.js.
 */
const READ_ONLY = `
const { createReadStream } = require('node:fs');
const { createInterface } = require('node:readline');
(async () => {
  let fields = 0;
  for (const file of process.argv.slice(1)) {
    for await (const line of createInterface({ input: createReadStream(file) })) fields += line.split(' ').length;
  }
  console.log(fields);
})();`;

/** Writes judgments and two runs with 100 results per query; returns the paths and the metrics to compute. */
export function writeTrecFiles(folder: string, size: number) {
  const queries = judgedRankings(size, 1);
  const fileOf = (name: string) => path.join(folder, `${name}.txt`);
  const [qrels, results, candidate] = [fileOf('qrels'), fileOf('run'), fileOf('candidate')];
  writeFileSync(
    qrels,
    queries.flatMap(({ judgments }, q) => [...judgments].map(([id, grade]) => `q${q} 0 ${id} ${grade}\n`)).join(''),
  );
  const writeRun = (file: string, scoreAt: (place: number) => number) =>
    writeFileSync(
      file,
      queries
        .flatMap(({ ranking }, q) => ranking.map((id, i) => `q${q} Q0 ${id} ${i + 1} ${scoreAt(i)} bench\n`))
        .join(''),
    );
  writeRun(results, (place) => (100 - place) / 7);
  // Swaps each pair of adjacent ranks.
  writeRun(candidate, (place) => (100 - (place ^ 1)) / 7);
  return { qrels, results, candidate, metrics: METRICS };
}

/** Measures each evaluation in a separate process, from reading the files to printing the report. */
export const evaluationOfFiles: MeasureRow = (quick) =>
  withFolder(async (folder) => {
    const size = quick ? 200 : 10_000;
    const { qrels, results, candidate, metrics } = writeTrecFiles(folder, size);
    const ask = (...args: readonly string[]) => timed(() => run(process.execPath, [program, ...args], folder));
    const files = ['--qrels', qrels, '--metrics', metrics];
    const version = versionOfTrecEval();
    const isThere = version !== null;
    const ms = await alternate(quick ? 1 : 5, {
      ours: () => ask('eval', ...files, '--run', results),
      compare: () => ask('compare', ...files, '--baseline', results, '--candidate', candidate),
      start: () => ask('eval', '--help'),
      split: () => timed(() => run(process.execPath, ['-e', READ_ONLY, qrels, results], folder)),
      theirs: () => (isThere ? timed(() => run('trec_eval', ['-c', ...THEIRS, qrels, results], folder)) : 0),
    });
    const what = `${size} queries x 100 results`;
    const [ours, compare] = [
      figure(`recalld eval, ${what}`, 'ms', ms.ours),
      figure('recalld compare, two such runs', 'ms', ms.compare),
    ] as const;
    const figures = [
      ours,
      compare,
      figure('recalld eval --help (startup time)', 'ms', ms.start),
      figure('Node.js program that only splits the lines of both files', 'ms', ms.split),
    ];
    const row = { row: 'evaluation of files', name: 'evaluation-of-files' };
    if (!isThere) {
      const notes = [
        'trec_eval is not on the PATH, so it was not compared with; build it with -O2, as it was here before.',
      ];
      return { ...row, figures, bars: [], notes };
    }
    const trecEval = figure('trec_eval -c', 'ms', ms.theirs);
    return {
      ...row,
      figures: [...figures, trecEval],
      bars: [
        half('duration of eval, relative to trec_eval', ours.median / trecEval.median),
        half('duration of compare, relative to trec_eval on both runs', compare.median / (2 * trecEval.median)),
      ],
      notes: [
        `The comparison uses ${version}, which must be built with -O2. Times are wall-clock times: if other processes use the CPUs, the threads of V8 that compile code and collect garbage must wait.`,
      ],
    };
  });

function half(what: string, value: number): Bar {
  return { what, value, side: 'at most', limit: 0.5, unit: 'times' };
}

/** Returns the version that trec_eval prints on stderr; null if trec_eval is not on the PATH. */
function versionOfTrecEval(): string | null {
  const { error, stderr } = spawnSync('trec_eval', ['--version'], { encoding: 'utf8' });
  return error === undefined ? stderr.trim() : null;
}
