import { describe, expect, it } from 'vitest';
import { periodBudget } from '../../../src/app/config/alerts.ts';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { createLogger } from '../../../src/app/logger.ts';
import { createPipelines } from '../../../src/app/pipelines.ts';
import { expectFalsePages, formatFalsePages } from '../../../src/checks/edge/false-pages-command.ts';
import type { PipelineExpectation } from '../../../src/checks/rules/false-pages.ts';
import { createDensityPlans } from '../../../src/density/plan.ts';
import type { LatestRun } from '../../../src/golden/sql/latest-runs.ts';

const now = new Date('2026-11-20T09:30:30Z');
const logger = createLogger('error');

const store =
  'vector_store: {kind: pgvector, url: "postgres://me@db/x", table: chunks, id: id, embedding: embedding, metric: cosine}';

function expected(
  checks: string,
  rest = '{set: faq, cron: "0 * * * *"}',
  latest: LatestRun[] | null = null,
  falsePages = '{}',
) {
  const text = `
alerts: {false_pages: ${falsePages}}
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://rag.internal/search"}
    ${store}
    golden: [${rest}]
    checks: [${checks}]
  - name: other
    retriever: {kind: http, url: "http://rag.internal/search"}
    ${store}
    density: {}
`;
  const config = parseConfig(text, 'recalld.yaml', {}, () => '');
  const pipelines = createPipelines(config, logger);
  const deps = {
    now,
    densityPlans: createDensityPlans(config, pipelines),
    liveIntervalSeconds: 300,
    latest,
    budget: periodBudget(config.alerts.false_pages.per_pipeline),
  };
  return expectFalsePages(deps, pipelines[0] ?? expect.fail('no pipeline'));
}

/** A completed run whose 95 % CI extends 0.02 to each side of the mean. */
function aRun(mean: number): LatestRun {
  const bounds = { mean, ciLow: mean - 0.02, ciHigh: mean + 0.02, ciMethod: 't' } as const;
  return {
    pipeline: 'docs',
    goldenSet: 'faq',
    lastAttemptAt: now,
    runsByStatus: { running: 0, completed: 1, void: 0, failed: 0, cancelled: 0 },
    ended: null,
    completed: {
      startedAt: now,
      finishedAt: now,
      scores: [{ segment: 'all', measure: 'ndcg', k: 10, n: 300, ...bounds }],
      segmentsOverflow: 0,
      labels: { probed: null, stale: null, deleted: null, lost: null, deadQueries: null, gap: null },
      baseline: null,
    },
  };
}

describe('the expected false pages of a pipeline', () => {
  it('cover the critical checks on every golden set, according to its schedule', () => {
    const sets = '{set: faq, cron: "0 * * * *"}, {set: legal, cron: "30 6 * * *"}, {set: by-hand}';
    const { checks } = expected(
      '{regression: ndcg@10, drop: 0.02}, {measure: ndcg@10, below: 0.8, severity: warning}',
      sets,
    );
    expect(checks).toMatchObject([
      { name: 'ndcg@10 regression by 0.02 on faq', evaluations: 2160, expected: expect.closeTo(0.746, 3) },
      { name: 'ndcg@10 regression by 0.02 on legal', evaluations: 90, expected: expect.closeTo(0.031, 3) },
      { name: 'ndcg@10 regression by 0.02 on by-hand', evaluations: 0, expected: 0 },
    ]);
  });

  it('exclude quiet hours, and assume that all weeks of a dense schedule are alike', () => {
    const regression = '{regression: ndcg@10, drop: 0.02}';
    const quiet = '{set: faq, cron: "0 * * * *", quiet_hours: [{from: "00:00", to: "12:00"}]}';
    expect(expected(regression, quiet).checks).toMatchObject([{ evaluations: 1080 }]);
    const dense = '{set: faq, cron: "*/5 * * * *"}';
    expect(expected(regression, dense).checks).toMatchObject([{ evaluations: 25_920 }]);
    const seldom = '{set: faq, cron: "*/5 * * * *", quiet_hours: [{from: "02:00", to: "00:00"}]}';
    expect(expected(regression, seldom).checks).toMatchObject([{ evaluations: 2160 }]);
  });

  it('state the margin that a threshold requires, or the margin of the latest run', () => {
    const floor = '{measure: ndcg@10, below: 0.8}';
    const hourly = '{set: faq, cron: "0 * * * *"}';
    expect(expected(floor).checks).toMatchObject([
      {
        expected: 0.01,
        assumption: 'as long as the usual score is above the threshold by at least 1.3 times its 95 % margin of error',
      },
    ]);
    expect(expected(floor, hourly, [aRun(0.8)]).checks).toMatchObject([{ expected: expect.closeTo(54, 6) }]);
    const [roomy] = expected(floor, hourly, [aRun(0.9)]).checks;
    expect(roomy?.expected).toBeLessThan(1e-9);
    expect(roomy?.assumption).toBe(
      'as long as the score stays at its latest value of 0.9 (n = 300), which is above the threshold by 5 times its 95 % margin of error',
    );
    expect(expected(floor, hourly, [aRun(0.7)]).checks).toMatchObject([
      { expected: null, assumption: expect.stringContaining('is below the threshold, so a page would be justified') },
    ]);
  });

  it('can be exact, a share of a budget or unknown, depending on the check', () => {
    const { checks } = expected(
      '{measure: error_ratio, above: 0.05}, {measure: golden_run_age_seconds, above: 7200}, {measure: retriever_latency_p95_seconds, above: 2}, {density_drift: true}, {stale_labels_above: 0.02}',
    );
    expect(checks).toMatchObject([
      { name: 'stale labels above 0.02 on faq', expected: 0 },
      { name: 'error_ratio above 0.05', evaluations: 25_920, expected: 0.01 },
      { name: 'golden_run_age_seconds above 7200', evaluations: null, expected: 0 },
      { name: 'retriever_latency_p95_seconds above 2', evaluations: 2160, expected: null },
      { name: 'density drift', evaluations: null, expected: expect.closeTo(90 / 365 / 2, 9) },
    ]);
  });
});

describe('the false page budget', () => {
  const hourly = '{set: faq, cron: "0 * * * *"}';

  it('for drift is shared by the density monitors of all pipelines', () => {
    const { checks } = expected('{density_drift: true}', hourly, null, '{drift: 6 per 360d}');
    expect(checks).toMatchObject([
      {
        expected: expect.closeTo((6 * 90) / 360 / 2, 9),
        assumption: 'because alerts.false_pages.drift is divided equally among 2 pipelines',
        fix: 'lower `alerts.false_pages.drift`',
      },
    ]);
  });

  it('of a pipeline covers all of its checks', () => {
    expect(expected('{density_drift: true}', hourly, null, '{per_pipeline: 2 per 45d}').accepted).toBeCloseTo(4, 9);
  });
});

describe('the report of expected false pages', () => {
  const report = (of: PipelineExpectation): string => formatFalsePages([of], '1 per 90d');

  it('sums the checks, and does not warn within the budget', () => {
    const text = report(expected('{regression: ndcg@10, drop: 0.02}, {measure: ndcg@10, below: 0.8}'));
    expect(text).toMatch(/^ +ndcg@10 below 0\.8 on faq +2160 +0\.01$/m);
    expect(text).toMatch(/^ +total, 1 accepted +0\.756$/m);
    expect(text).not.toContain('Warning');
  });

  it('warns above the budget, and names the fix for the check that contributes most', () => {
    expect(report(expected('{regression: ndcg@10, drop: 0.02, runs: 1}'))).toContain(
      'Warning: docs will cause about 9.73 false pages in 90 days, more than alerts.false_pages.per_pipeline (1 per 90d) accepts. For ndcg@10 regression by 0.02 on faq, raise `runs`, lower `alpha`, or set `severity: warning`.',
    );
  });

  it('is empty if no check can page', () => {
    expect(report(expected('{measure: ndcg@10, below: 0.8, severity: warning}'))).toBe('');
  });
});
