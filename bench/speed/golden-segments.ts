/** Creates a golden set with many segments on a daemon, and runs it. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Daemon, program, run } from './child.ts';

export const SEGMENTS = 20;

export function goldenConfig(url: string): string {
  return `
server: {port: 0, max_requests_per_minute: 100000000}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${url}/search"}
    segments: {keys: [course], max: 50}
    sampling: {rate: 1, max_per_minute: 100000000}
    golden: [{set: faq, concurrency: 8, max_per_second: 100000}]
`;
}

export async function importSet({ folder }: Daemon, queries: number): Promise<void> {
  const rows = Array.from({ length: queries }, (_, i) => `question ${i},d${i},course-${i % SEGMENTS}`);
  writeFileSync(path.join(folder, 'set.csv'), ['question,document,course', ...rows].join('\n'));
  await run(process.execPath, [program, 'golden', 'import', 'set.csv', '--set', 'faq'], folder);
}

/** Runs the golden set, and returns the id of the completed run. */
export async function runSet({ url }: Daemon): Promise<string> {
  const { run_id: id } = await post(url, '/v1/golden-runs', { pipeline: 'docs', golden_set: 'faq' });
  for (;;) {
    const response = await fetch(`${url}/v1/golden-runs?pipeline=docs&status=running`);
    const { items } = (await response.json()) as { items: readonly unknown[] };
    if (items.length === 0) return String(id);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Pins the baseline with which later runs are compared. */
export async function pinRun({ url }: Daemon, runId: string): Promise<void> {
  await post(url, '/v1/baselines', { run_id: runId });
}

async function post(url: string, at: string, body: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}${at}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${at} answers ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}
