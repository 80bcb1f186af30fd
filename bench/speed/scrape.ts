import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Daemon, program, run, startScript, withDaemon } from './child.ts';
import { sendLoad } from './http-load.ts';
import { liveQuery } from './live-config.ts';
import { figure, type MeasureRow } from './row.ts';

const QUERIES_PER_SEGMENT = 2;

/** Measures how long a scrape takes if every pipeline and segment has a golden run. */
export async function scrapeTimes(pipelines: number, segments: number, rounds: number) {
  const retriever = await startScript('bare-retriever.ts');
  try {
    return await withDaemon(scrapeConfig(retriever.url, pipelines), async (daemon) => {
      await runEveryPipeline(daemon, pipelines, segments);
      const scrapes: number[] = [];
      let bytes = 0;
      await scrape(daemon);
      for (let round = 0; round < rounds; round++) {
        const startedAt = performance.now();
        bytes = (await scrape(daemon)).length;
        scrapes.push(performance.now() - startedAt);
      }
      const load = { path: '/v1/queries', connections: 4, seconds: rounds > 5 ? 4 : 0.3, pauseMs: 20 };
      const post = () => sendLoad({ ...load, url: daemon.url, body: () => liveQuery().replace('"docs"', '"p0"') });
      await post();
      const quiet = await post();
      const scraping = startScrapes(daemon);
      const busy = await post();
      await scraping.stop();
      return { scrapes, bytes, quiet, busy };
    });
  } finally {
    await retriever.stop();
  }
}

export const scrapeRow: MeasureRow = async (quick) => {
  const [pipelines, segments] = quick ? [2, 3] : [50, 20];
  const { scrapes, bytes, quiet, busy } = await scrapeTimes(pipelines, segments, quick ? 3 : 15);
  const time = figure(`/metrics with ${pipelines} pipelines x ${segments} segments`, 'ms', scrapes);
  return {
    row: 'scrape of /metrics',
    name: 'scrape',
    figures: [
      time,
      figure('size of the response', 'kB', [bytes / 1000]),
      figure('ingest p99 without scrapes', 'ms', [quiet.p99Ms]),
      figure('ingest p99 during continuous scraping', 'ms', [busy.p99Ms]),
    ],
    bars: [
      { what: 'duration of a scrape', value: time.median, side: 'at most', limit: 100, unit: 'ms' },
      {
        what: 'ingest p99 during continuous scraping',
        value: busy.p99Ms,
        side: 'at most',
        limit: 50,
        unit: 'ms',
      },
    ],
    notes: [],
  };
};

function scrapeConfig(url: string, pipelines: number): string {
  const entries = Array.from(
    { length: pipelines },
    (_, i) => `
  - name: p${i}
    retriever: {kind: http, url: "${url}/search"}
    segments: {keys: [course]}
    golden: [{set: faq, concurrency: 8, max_per_second: 100000}]`,
  );
  return `server: {port: 0, max_requests_per_minute: 100000000}\npipelines:${entries.join('')}\n`;
}

async function runEveryPipeline(daemon: Daemon, pipelines: number, segments: number): Promise<void> {
  const rows = Array.from(
    { length: segments * QUERIES_PER_SEGMENT },
    (_, i) => `question ${i},d${i},course-${i % segments}`,
  );
  writeFileSync(path.join(daemon.folder, 'set.csv'), ['question,document,course', ...rows].join('\n'));
  await run(process.execPath, [program, 'golden', 'import', 'set.csv', '--set', 'faq'], daemon.folder);
  for (let i = 0; i < pipelines; i++) {
    const response = await fetch(`${daemon.url}/v1/golden-runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ pipeline: `p${i}`, golden_set: 'faq' }),
    });
    if (response.status !== 202) throw new Error(`A golden run is refused: ${await response.text()}`);
  }
  const isDone = async (): Promise<boolean> => {
    const page = await scrape(daemon);
    const done = page
      .split('\n')
      .filter((line) => line.startsWith('recalld_golden_run_last_success_timestamp_seconds{'));
    return done.length >= pipelines;
  };
  const giveUpAt = performance.now() + 120_000;
  while (!(await isDone())) {
    if (performance.now() > giveUpAt) throw new Error('The golden runs did not end within two minutes.');
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function scrape({ url }: Daemon): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

/** Scrapes continuously in a separate process, because reading ten megabytes would delay the sender of queries. */
function startScrapes({ url }: Daemon): { stop(): Promise<void> } {
  const again = `for (;;) await (await fetch(${JSON.stringify(`${url}/metrics`)})).arrayBuffer();`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', again], { stdio: 'ignore' });
  return {
    async stop() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
