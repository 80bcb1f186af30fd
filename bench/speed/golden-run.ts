import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { program, run, startScript, withDaemon } from './child.ts';
import { figure, type MeasureRow } from './row.ts';

const CONCURRENCY = 8;

/** Compares a golden run with the same requests sent without recalld; the retriever responds immediately. */
export const goldenRun: MeasureRow = async (quick) => {
  const queries = quick ? 50 : 2000;
  const retriever = await startScript('bare-retriever.ts');
  try {
    return await withDaemon(goldenConfig(retriever.url), async (daemon) => {
      const rows = Array.from({ length: queries }, (_, i) => `question ${i},d${i}`);
      writeFileSync(path.join(daemon.folder, 'set.csv'), ['question,document', ...rows].join('\n'));
      await run(process.execPath, [program, 'golden', 'import', 'set.csv', '--set', 'faq'], daemon.folder);
      const [ours, bare, overhead]: [number[], number[], number[]] = [[], [], []];
      for (let round = 0; round < (quick ? 1 : 3); round++) {
        const alone = await askAll(retriever.url, queries);
        const whole = await runOnce(daemon.folder);
        ours.push(whole / queries);
        bare.push(alone / queries);
        overhead.push((whole - alone) / queries);
      }
      const cost = figure('overhead per query', 'ms', overhead);
      return {
        row: 'golden run',
        name: 'golden-run',
        figures: [
          figure(`recalld, ${queries} queries, ${CONCURRENCY} at once, per query`, 'ms', ours),
          figure('the retriever alone, per query', 'ms', bare),
          cost,
        ],
        bars: [{ what: 'overhead per query', value: cost.median, side: 'at most', limit: 1, unit: 'ms' }],
        notes: [
          'The duration of a golden run is measured from its start to its verdict, including storing, scoring and comparing.',
        ],
      };
    });
  } finally {
    await retriever.stop();
  }
};

function goldenConfig(url: string): string {
  return `
server: {port: 0}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${url}/search"}
    golden: [{set: faq, concurrency: ${CONCURRENCY}, max_per_second: 100000}]
`;
}

async function runOnce(folder: string): Promise<number> {
  const args = ['golden', 'run', '--pipeline', 'docs', '--set', 'faq', '--json'];
  const summary = JSON.parse(await run(process.execPath, [program, ...args], folder)) as {
    status: string;
    started_at: string;
    finished_at: string;
  };
  if (summary.status !== 'completed') throw new Error(`The golden run is ${summary.status}.`);
  return Date.parse(summary.finished_at) - Date.parse(summary.started_at);
}

async function askAll(url: string, queries: number): Promise<number> {
  let next = 0;
  const startedAt = performance.now();
  const ask = async (): Promise<void> => {
    while (next < queries) {
      const body = JSON.stringify({ query: `question ${next++}`, k: 10 });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}/search`, { method: 'POST', headers, body });
      await response.json();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, ask));
  return performance.now() - startedAt;
}
