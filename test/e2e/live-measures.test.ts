/** Queries and clicks sent over HTTP appear in the live traffic gauges. */
import { describe, expect, it } from 'vitest';
import { measureLiveTrafficJob } from '../../src/live/live-jobs.ts';
import { anInstallation, type InstalledDaemon, startJobs } from '../support/installation.ts';
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

async function send(daemon: InstalledDaemon, where: string, items: unknown): Promise<void> {
  expect(await daemon.post(where, items)).toMatchObject({ status: 202, body: { rejected: [] } });
}

/** Queries of separate sessions, sent `hoursAgo` hours ago, each with one document. */
function queries(prefix: string, count: number, hoursAgo: number, more: (index: number) => object = () => ({})) {
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

describe('the measures of live traffic', () => {
  it('are computed from queries and clicks, have confidence intervals, and survive a restart', async () => {
    const { connection, serve } = await anInstallation({ 'recalld.yaml': config });
    const daemon = await serve();
    const before = queries('baseline', 200, 72);
    const today = queries('today', 100, 2, (index) => ({
      segments: { lang: index < 60 ? 'en' : 'de' },
      stages: [
        { name: 'candidates', latency_ms: 40, results: [{ id: 'd2' }, { id: 'd1' }] },
        { name: 'reranked', latency_ms: 60 },
      ],
    }));
    const empty = queries('empty', 20, 2, () => ({ results: [] }));
    const failed = queries('failed', 5, 2, () => ({ results: [], error: 'timeout' }));
    await send(daemon, '/v1/queries', [...before, ...today, ...empty, ...failed]);
    // People click on results for a quarter of the earlier queries and half of today's queries. A robot clicks on
    // results for 70 of today's queries, but only 60 of its clicks count.
    await send(daemon, '/v1/feedback', clicks(before.slice(0, 50)));
    await send(daemon, '/v1/feedback', clicks(today.slice(0, 50)));
    await send(daemon, '/v1/feedback', clicks(today.slice(30), { user_id: 'robot' }));
    await startJobs(connection, [measureLiveTrafficJob.name]);

    const read = async ({ metrics }: InstalledDaemon): Promise<(name: string, labels?: string) => number | null> => {
      const text = await metrics();
      expect(text).not.toContain('NaN');
      return (name, labels = 'pipeline="docs",segment="all"') => {
        const line = text.split('\n').find((one) => one.startsWith(`${name}{${labels}} `));
        return line === undefined ? null : Number(line.split(' ').at(-1));
      };
    };
    const check = (value: (name: string, labels?: string) => number | null): void => {
      expect(value('recalld_query_volume')).toBe(125);
      // Every query was sampled, but the interval is still wider than zero, because sessions vary.
      for (const [measure, share] of [
        ['zero_results', 20 / 125],
        ['error', 5 / 125],
      ] as const) {
        const name = `recalld_query_${measure}_ratio`;
        expect(value(name)).toBeCloseTo(share, 9);
        expect(value(`${name}_ci_low`)).toBeLessThan(share);
        expect(value(`${name}_ci_high`)).toBeGreaterThan(share);
      }
      // The ratio counts 30 queries that only people clicked, and 60 of the 70 queries that the robot clicked.
      expect(value('recalld_feedback_clicked_query_ratio')).toBeCloseTo(90 / 125, 9);
      expect(value('recalld_feedback_click_through_ratio')).toBeCloseTo(0.9, 9);
      expect(value('recalld_feedback_clicked_reciprocal_rank')).toBe(1);
      const coec = 'recalld_feedback_clicks_over_expected_ratio';
      expect(value(coec)).toBeCloseTo(0.9 / 0.25, 9);
      expect(value(`${coec}_ci_low`)).toBeGreaterThan(2);
      expect(value(`${coec}_ci_high`)).toBeLessThan(6);
      expect(value('recalld_query_volume', 'pipeline="docs",segment="lang=en"')).toBe(60);
      expect(value('recalld_query_volume', 'pipeline="docs",segment="other"')).toBe(40);
      const [candidates, reranked] = ['candidates', 'reranked'].map((stage) => `pipeline="docs",stage="${stage}"`);
      expect(value('recalld_live_stage_queries', candidates)).toBe(100);
      expect(value('recalld_live_stage_latency_p95_seconds', reranked)).toBe(0.06);
      expect(value('recalld_live_stage_documents', candidates)).toBe(2);
      expect(value('recalld_live_stage_documents', reranked)).toBeNull();
      // The relevant document is the second candidate.
      expect(value('recalld_live_stage_answered_ratio', candidates)).toBe(0);
      const n = 'pipeline="docs",segment="all",measure="zero_results_ratio"';
      expect(value('recalld_live_measure_samples', n)).toBe(125);
      const why = 'pipeline="quiet",segment="all",measure="error_ratio",reason="no_queries"';
      expect(value('recalld_live_measure_no_data', why)).toBe(1);
      expect(value('recalld_live_measure_samples_read_ratio', 'pipeline="docs"')).toBe(1);
      const at = value('recalld_live_measure_last_success_timestamp_seconds', 'pipeline="docs"');
      expect(Math.abs((at ?? 0) - Date.now() / 1000)).toBeLessThan(600);
    };
    await waitFor(async () => {
      check(await read(daemon));
      return true;
    });
    expect((await daemon.stop()).code).toBe(0);

    const again = await serve();
    check(await read(again));
    expect((await again.stop()).code).toBe(0);
  });
});
