import { type Signal, signal, type ValueAt } from '../../../support/promtool.ts';
import type { AlertFixture } from './fixture.ts';
import { always, growing, traffic } from './signals.ts';

const docs = { pipeline: 'docs' };
const calm = traffic({ ok: 98, empty: 1, error: 1, timeout: 0 });
const DAY = 1440;

/** A counter that increases until the minute `end`, then stays constant. */
const stopping = (perMinute: number, end: number) => (minute: number) => perMinute * Math.min(minute, end);

function opinions(latest: number, evidence: number): Signal[] {
  return [
    signal('recalld_feedback_latest_positive_ratio', docs, always(latest)),
    signal('recalld_feedback_baseline_positive_ratio', docs, always(0.8)),
    signal('recalld_feedback_drop_evidence_ratio', docs, always(evidence)),
  ];
}

function measured(value: number, changed: number): Signal[] {
  const labels = { ...docs, measure: 'context_repeated_ratio', segment: 'all' };
  return [
    signal('recalld_measure_value', labels, always(value)),
    signal('recalld_measure_normal', labels, always(0.0002)),
    signal('recalld_measure_changed', labels, always(changed)),
  ];
}

const thumbs = (at: ValueAt) => signal('recalld_feedback_total', { ...docs, kind: 'thumb', sentiment: 'positive' }, at);

export const liveFixtures: readonly AlertFixture[] = [
  {
    alert: 'RecalldLiveNotAnswering',
    labels: docs,
    breaching: traffic({ ok: 25, error: 50, timeout: 25 }),
    healthy: calm,
    says: '75% of live queries on docs in the last 5 minutes failed or timed out (limit 50 %). Fix the retrieval service, or roll it back if a new version was just deployed.',
  },
  {
    alert: 'RecalldIsolationViolated',
    labels: { ...docs, rule: 'tenants' },
    breaching: [signal('recalld_live_isolation_violations', { ...docs, rule: 'tenants' }, always(3))],
    healthy: [signal('recalld_live_isolation_violations', { ...docs, rule: 'tenants' }, always(0))],
    says: 'In the last hour, 3 live queries of docs returned documents that violate the isolation rule "tenants". Check the tenant or permission filter of the search; the console lists the documents and queries.',
  },
  {
    alert: 'RecalldLiveErrors',
    labels: docs,
    breaching: traffic({ ok: 90, error: 6, timeout: 4 }),
    healthy: calm,
    says: '10% of live queries on docs in the last hour failed or timed out (limit 5 %).',
  },
  {
    alert: 'RecalldLiveZeroResults',
    labels: docs,
    breaching: traffic({ ok: 75, empty: 25 }),
    healthy: calm,
    says: '25% of live queries on docs in the last hour returned no documents, which is at least 10 % and more than twice the usual share. Check the index and its filters.',
  },
  {
    alert: 'RecalldLiveLatency',
    labels: docs,
    breaching: traffic({ ok: 100 }, 2.5),
    healthy: calm,
    says: 'The 95th-percentile latency of live queries on docs in the last 15 minutes was 2.425s (limit 1 s), more than twice as long as usual.',
  },
  {
    alert: 'RecalldLiveTrafficStopped',
    labels: docs,
    breaching: [signal('recalld_queries_total', { ...docs, outcome: 'ok' }, stopping(10, DAY + 60))],
    healthy: [signal('recalld_queries_total', { ...docs, outcome: 'ok' }, growing(10))],
    minutes: DAY + 180,
    step: 5,
    says: 'recalld has received no live queries for docs in 30 minutes. In the same hour yesterday, it received 1.2k live queries. Check the service that sends them, and its API key.',
  },
  {
    alert: 'RecalldFeedbackFell',
    labels: docs,
    breaching: opinions(0.33, 40),
    healthy: opinions(0.7, 0.2),
    says: '33% of the latest feedback on docs was positive. Within the trailing window, the share of positive feedback dropped more than 5 percentage points below its baseline.',
  },
  {
    alert: 'RecalldMeasureChanged',
    labels: { ...docs, measure: 'context_repeated_ratio', segment: 'all' },
    breaching: measured(0.5, 1),
    healthy: measured(0.0002, 0),
    says: 'context_repeated_ratio (all) of docs is 0.5; its usual value is 0.0002.',
  },
  {
    alert: 'RecalldFeedbackStopped',
    labels: docs,
    breaching: [...calm, thumbs(stopping(1, DAY))],
    healthy: [...calm, thumbs(growing(1))],
    minutes: DAY + 480,
    step: 5,
    says: 'recalld has received no feedback on docs in 6 hours although live queries arrived. In the same 6 hours yesterday, it received 720 feedback items. Check that the feedback buttons work and that the service sends feedback to recalld.',
  },
  {
    alert: 'RecalldErrorBudgetFastBurn',
    labels: { ...docs, slo: 'success' },
    breaching: traffic({ ok: 80, error: 20 }),
    healthy: calm,
    says: '20% of the live queries of docs failed or timed out in the last 1h or 6h. At this rate, the objective of 99 % over 30 days will be missed.',
  },
  {
    alert: 'RecalldErrorBudgetSlowBurn',
    labels: { ...docs, slo: 'success' },
    breaching: traffic({ ok: 96, error: 4 }),
    healthy: calm,
    says: '4% of the live queries of docs failed or timed out in the last 1d or 3d. At this rate, the objective of 99 % over 30 days will be missed.',
  },
];
