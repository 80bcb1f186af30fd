/**
 * API clients in addition to the live traffic: readers of every page, a scraper, and a client that starts golden runs.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Fleet } from '../../test/support/fleet.ts';

export interface Callers {
  /** Latencies of the responses in milliseconds, keyed by request. */
  readonly latenciesMs: ReadonlyMap<string, readonly number[]>;
  /** Ids of golden runs that were accepted with 202. */
  readonly runs: ReadonlySet<string>;
  /** Number of failed requests by HTTP status. Status 0 counts requests that received no complete response. */
  readonly failures: ReadonlyMap<number, number>;
  stop(): Promise<void>;
}

const PIPELINE = 'docs';
const reads = [
  '/v1/pipelines',
  `/v1/pipelines/${PIPELINE}/status`,
  '/v1/golden-sets',
  '/v1/golden-sets/faq',
  '/v1/golden-runs',
  '/v1/checks',
  '/v1/deployments',
  `/v1/density?pipeline=${PIPELINE}`,
  `/v1/uncovered-topics?pipeline=${PIPELINE}`,
  `/v1/feedback/summary?pipeline=${PIPELINE}`,
  '/metrics',
  '/livez',
];
const READ_EVERY_MS = 50;
const RUN_EVERY_MS = 8000;
const PATIENCE_MS = 5000;

export function startCallers(fleet: Fleet): Callers {
  const latenciesMs = new Map<string, number[]>();
  const runs = new Set<string>();
  const failures = new Map<number, number>();
  const over = new AbortController();
  let turn = 0;

  const call = async (what: string, route: string, init: RequestInit = {}): Promise<string | null> => {
    const apis = fleet.apis();
    const api = apis[(turn += 1) % Math.max(1, apis.length)];
    const startedAt = performance.now();
    let status = 0;
    try {
      const headers = { authorization: `Bearer ${fleet.key}`, 'content-type': 'application/json' };
      const response = await fetch(`${api}${route}`, {
        ...init,
        headers,
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const text = await response.text();
      status = response.status;
      if (response.ok) {
        const known = latenciesMs.get(what);
        if (known === undefined) latenciesMs.set(what, [performance.now() - startedAt]);
        else known.push(performance.now() - startedAt);
        return text;
      }
    } catch {
      // No response: the process or a service that it needs was killed.
    }
    failures.set(status, (failures.get(status) ?? 0) + 1);
    return null;
  };
  const repeat = async (everyMs: number, work: (round: number) => Promise<void>): Promise<void> => {
    for (let round = 0; !over.signal.aborted; round += 1) {
      await work(round);
      await pause(everyMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  const ended = Promise.all([
    repeat(READ_EVERY_MS, async (round) => {
      const route = reads[round % reads.length] ?? '/livez';
      await call(route === '/metrics' ? 'GET /metrics' : 'GET (reads)', route);
    }),
    repeat(RUN_EVERY_MS, async () => {
      const body = JSON.stringify({ pipeline: PIPELINE, golden_set: 'faq' });
      const said = await call('POST /v1/golden-runs', '/v1/golden-runs', { method: 'POST', body });
      if (said !== null) runs.add((JSON.parse(said) as { run_id: string }).run_id);
    }),
  ]);
  return {
    latenciesMs,
    runs,
    failures,
    async stop() {
      over.abort();
      await ended;
    },
  };
}
