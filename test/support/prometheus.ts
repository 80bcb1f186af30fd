/**
 * A real Prometheus on loopback that scrapes a daemon each second.
 *
 *   const prometheus = await startPrometheus(daemon.url, rules, afterAll);
 *   await prometheus.query('up');          // the series that it returns now
 *
 * A test file uses `describe.skipIf(missing('prometheus'))` to skip its tests if Prometheus is not installed.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { freePort } from './free-port.ts';
import { aFolder } from './recalld.ts';
import { waitFor } from './wait-for.ts';

type AtEnd = (clean: () => Promise<void>) => void;

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface Prometheus {
  readonly url: string;
  query(expression: string): Promise<readonly Series[]>;
  /** Values of a label in the matching series. */
  labelValues(label: string, match: string): Promise<readonly string[]>;
}

/** @param rules text of a rule file */
export async function startPrometheus(daemonUrl: string, rules: string, atEnd: AtEnd): Promise<Prometheus> {
  const folder = await aFolder({}, atEnd);
  const url = `http://127.0.0.1:${await freePort()}`;
  writeFileSync(path.join(folder, 'rules.yml'), rules);
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: [
      {
        job_name: 'recalld',
        static_configs: [{ targets: [new URL(daemonUrl).host] }],
      },
    ],
  };
  writeFileSync(path.join(folder, 'prometheus.yml'), stringify(config));
  const child = spawn(
    'prometheus',
    [
      `--config.file=${path.join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=${new URL(url).host}`,
    ],
    { stdio: 'ignore' },
  );
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  atEnd(async () => {
    if (child.exitCode === null) child.kill('SIGKILL');
    await closed;
  });
  await waitFor(async () => (await fetch(`${url}/-/ready`)).ok, { timeoutMs: 60_000 });

  const get = async (route: string, parameters: Record<string, string>): Promise<unknown> => {
    const response = await fetch(`${url}/api/v1/${route}?${new URLSearchParams(parameters).toString()}`);
    const body = (await response.json()) as { status: string; error?: string; data: unknown };
    if (body.status !== 'success') throw new Error(`${JSON.stringify(parameters)}: ${body.error}`);
    return body.data;
  };
  return {
    url,
    async query(expression) {
      return ((await get('query', { query: expression })) as { result: Series[] }).result;
    },
    async labelValues(label, match) {
      return (await get(`label/${label}/values`, { 'match[]': match })) as string[];
    },
  };
}
