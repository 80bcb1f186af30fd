import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { program, run, withFolder } from './child.ts';
import { judgedRankings } from './evaluation.ts';
import { alternate, type Bar, figure, type MeasureRow, timed } from './row.ts';

const METRICS = 'ndcg@10,mrr,map,recall@10,recall@20,recall@50,recall@100';
const THEIRS = ['-m', 'ndcg_cut.10', '-m', 'recip_rank', '-m', 'map', '-m', 'recall.10,20,50,100'];
/** Reads the same two files and does nothing with them but split their lines: a floor for any program of Node. */
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

/** Judgments and a run with 100 results a query, and the metrics that they are evaluated by. */
export function writeTrecFiles(folder: string, size: number) {
  const queries = judgedRankings(size, 1);
  const [qrels, results] = [path.join(folder, 'qrels.txt'), path.join(folder, 'run.txt')];
  writeFileSync(
    qrels,
    queries.flatMap(({ judgments }, q) => [...judgments].map(([id, grade]) => `q${q} 0 ${id} ${grade}\n`)).join(''),
  );
  writeFileSync(
    results,
    queries
      .flatMap(({ ranking }, q) => ranking.map((id, i) => `q${q} Q0 ${id} ${i + 1} ${(100 - i) / 7} bench\n`))
      .join(''),
  );
  return { qrels, results, metrics: METRICS };
}

/** From two files to a report, as a process of its own. */
export const evaluationOfFiles: MeasureRow = (quick) =>
  withFolder(async (folder) => {
    const size = quick ? 200 : 10_000;
    const { qrels, results, metrics } = writeTrecFiles(folder, size);
    const ours = () =>
      timed(() =>
        run(process.execPath, [program, 'eval', '--qrels', qrels, '--run', results, '--metrics', metrics], folder),
      );
    const split = () => timed(() => run(process.execPath, ['-e', READ_ONLY, qrels, results], folder));
    const what = `${size} queries x 100 results`;
    const row = { row: 'evaluation of files', name: 'evaluation-of-files' };
    if (!hasTrecEval()) {
      const ms = await alternate(3, { ours, split });
      return {
        ...row,
        figures: [
          figure(`recalld eval, ${what}`, 'ms', ms.ours),
          figure('Node splitting the lines of both files, nothing else', 'ms', ms.split),
        ],
        bars: [],
        notes: ['trec_eval is not installed here, so it was not compared with.'],
      };
    }
    const theirs = () => timed(() => run('trec_eval', ['-c', ...THEIRS, qrels, results], folder));
    const ms = await alternate(5, { ours, split, theirs });
    const figures = [
      figure(`recalld eval, ${what}`, 'ms', ms.ours),
      figure('trec_eval -c', 'ms', ms.theirs),
      figure('Node splitting the lines of both files, nothing else', 'ms', ms.split),
    ] as const;
    const bar: Bar = {
      what: 'time over that of trec_eval',
      value: figures[0].median / figures[1].median,
      side: 'at most',
      limit: 1.25,
      unit: 'times',
    };
    return { ...row, figures, bars: [bar], notes: [] };
  });

function hasTrecEval(): boolean {
  try {
    execFileSync('trec_eval', ['--version'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}
