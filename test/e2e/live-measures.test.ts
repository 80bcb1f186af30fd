/** From queries and clicks over HTTP to the gauges of live traffic. */
import { describe, expect, it } from 'vitest';
import { jobCatalogue } from '../../src/app/job-catalogue.ts';
import { measureLiveTrafficJob } from '../../src/live/live-jobs.ts';
import { openJobQueue } from '../../src/queue/bullmq.ts';
import { silentLogger } from '../support/log.ts';
import { aFolder, type Daemon, embeddedConnection, startRecalld } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';

const config = `
server: {port: 0}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
    sampling: {rate: 1, max_per_minute: 1000000}
    segments: {keys: [lang], max: 1}
  - name: quiet
    retriever: {kind: http, url: "http://127.0.0.1:9/search"}
`;

const HOUR_MS = 3_600_000;

async function post(daemon: Daemon, where: string, body: unknown): Promise<void> {
  const response = await fetch(`${daemon.url}${where}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 202,
    body: { rejected: [] },
  });
}

/** Queries of sessions of their own, so many hours ago, with one document. */
function queries(
  prefix: string,
  count: number,
  hoursAgo: number,
  more: (index: number) => object = () => ({}),
) {
  const occurredAt = new Date(Date.now() - hoursAgo * HOUR_MS).toISOString();
  return Array.from({ length: count }, (_, index) => ({
    id: `${prefix}${index}`,
    pipeline: 'docs',
    occurred_at: occurredAt,
    session_id: `${prefix}${index}`,
    results: [{ id: 'd1' }],
    ...more(index),
  }));
}

function clicks(on: readonly { id: string; occurred_at: string }[], more: object = {}) {
  return on.map(({ id, occurred_at }) => ({
    query_id: id,
    pipeline: 'docs',
    kind: 'click',
    document_id: 'd1',
    occurred_at,
    ...more,
  }));
}

/** Starts the job now rather than at the next five minutes, as any process on the same queue may. */
async function measureNow(folder: string): Promise<void> {
  const backend = { kind: 'postgres', connection: embeddedConnection(folder) } as const;
  const queue = await openJobQueue({ backend, jobs: jobCatalogue, logger: silentLogger });
  try {
    await queue.enqueue(measureLiveTrafficJob.name, {}, 'measure-live-traffic-by-hand');
  } finally {
    await queue.close();
  }
}

describe('the measures of live traffic', () => {
  it('come from queries and clicks to the metrics, with bounds, and survive a restart', async () => {
    const folder = await aFolder({ 'recalld.yaml': config });
    const daemon = await startRecalld(['serve'], folder);
    const before = queries('baseline', 200, 72);
    const today = queries('today', 100, 2, (index) => ({ segments: { lang: index < 60 ? 'en' : 'de' } }));
    const empty = queries('empty', 20, 2, () => ({ results: [] }));
    const failed = queries('failed', 5, 2, () => ({ results: [], error: 'timeout' }));
    await post(daemon, '/v1/queries', [...before, ...today, ...empty, ...failed]);
    // A quarter of the queries was clicked before, and a half today; a robot clicks all, and counts 60 times.
    await post(daemon, '/v1/feedback', clicks(before.slice(0, 50)));
    await post(daemon, '/v1/feedback', clicks(today.slice(0, 50)));
    await post(daemon, '/v1/feedback', clicks(today.slice(30), { user_id: 'robot' }));
    await measureNow(folder);

    const read = async (url: string): Promise<(name: string, labels?: string) => number | null> => {
      const text = await (await fetch(`${url}/metrics`)).text();
      expect(text).not.toContain('NaN');
      return (name, labels = 'pipeline="docs",segment="all"') => {
        const line = text.split('\n').find((one) => one.startsWith(`${name}{${labels}} `));
        return line === undefined ? null : Number(line.split(' ').at(-1));
      };
    };
    const check = (value: (name: string, labels?: string) => number | null): void => {
      expect(value('recalld_query_volume')).toBe(125);
      // Every query was kept, so there is no doubt.
      for (const bound of ['', '_ci_low', '_ci_high']) {
        expect(value(`recalld_query_zero_results_ratio${bound}`)).toBeCloseTo(20 / 125, 9);
        expect(value(`recalld_query_error_ratio${bound}`)).toBeCloseTo(5 / 125, 9);
      }
      // 30 queries that only people clicked, and 60 of the 70 that the robot clicked.
      expect(value('recalld_feedback_clicked_query_ratio')).toBeCloseTo(90 / 125, 9);
      expect(value('recalld_feedback_click_through_ratio')).toBeCloseTo(0.9, 9);
      expect(value('recalld_feedback_clicked_reciprocal_rank')).toBe(1);
      const coec = 'recalld_feedback_clicks_over_expected_ratio';
      expect(value(coec)).toBeCloseTo(0.9 / 0.25, 9);
      expect(value(`${coec}_ci_low`)).toBeGreaterThan(2);
      expect(value(`${coec}_ci_high`)).toBeLessThan(6);
      expect(value('recalld_query_volume', 'pipeline="docs",segment="lang=en"')).toBe(60);
      expect(value('recalld_query_volume', 'pipeline="docs",segment="other"')).toBe(40);
      const n = 'pipeline="docs",segment="all",measure="zero_results_ratio"';
      expect(value('recalld_live_measure_samples', n)).toBe(125);
      const why = 'pipeline="quiet",segment="all",measure="error_ratio",reason="no_queries"';
      expect(value('recalld_live_measure_no_data', why)).toBe(1);
      expect(value('recalld_live_measure_samples_read_ratio', 'pipeline="docs"')).toBe(1);
      const at = value('recalld_live_measure_last_success_timestamp_seconds', 'pipeline="docs"');
      expect(Math.abs((at ?? 0) - Date.now() / 1000)).toBeLessThan(600);
    };
    await waitFor(async () => {
      check(await read(daemon.url));
      return true;
    });
    expect((await daemon.stop()).code).toBe(0);

    const again = await startRecalld(['serve'], folder);
    check(await read(again.url));
    expect((await again.stop()).code).toBe(0);
  });
});
