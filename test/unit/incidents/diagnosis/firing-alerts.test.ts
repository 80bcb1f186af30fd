import { describe, expect, it } from 'vitest';
import { statesOf } from '../../../../src/checks/check-store.ts';
import type { CheckState, CheckStatus } from '../../../../src/checks/rules/check-state.ts';
import type { Verdict } from '../../../../src/core/model.ts';
import { systemClock } from '../../../../src/core/system-clock.ts';
import { MINUTE_MS } from '../../../../src/core/time.ts';
import type { LatestRun } from '../../../../src/golden/sql/latest-runs.ts';
import {
  type AlertFacts,
  alertsOf,
  carriedOver,
  hasLeftConfig,
  recoveriesOf,
  trusted,
  withoutData,
} from '../../../../src/incidents/diagnosis/firing-alerts.ts';
import { changedMeasures } from '../../../../src/incidents/diagnosis/live-alerts.ts';
import { updateTimelines } from '../../../../src/incidents/diagnosis/rules/incident.ts';
import type { Measurement } from '../../../../src/measures/rules/measurement.ts';
import { createLagHistory } from '../../../../src/platform/threads/lag-history.ts';
import { aFloor, aLatestRun, anAlert, aWatchedPipeline, goldenChecks, NOON } from '../../../support/builders.ts';
import { aCheckState, statesAt } from '../../../support/check-states.ts';
import { aMeasurement, hours, latestAt } from '../../../support/measurements.ts';

const NAME = 'retriever_latency_p95_seconds above 0.3';
const thresholdPipeline = aWatchedPipeline({
  thresholds: [
    {
      measure: 'retriever_latency_p95_seconds',
      threshold: 0.3,
      severity: 'critical',
      segments: 'all',
      minN: 20,
      confirm: 1,
      noData: 'silent',
    },
  ],
});

function alertsOfVerdict(verdict: Verdict, minutes: number) {
  const now = new Date(NOON.getTime() + minutes * 60_000);
  const trustedUntil = new Date(NOON.getTime() + 15 * 60_000);
  const status = {
    pipeline: thresholdPipeline.name,
    name: NAME,
    threshold: 0.3,
    value: 0.5,
    segment: null,
    verdict,
    since: NOON,
    trustedUntil,
  } as CheckStatus;
  const checks = statesOf({ pipelines: [thresholdPipeline], densityPlans: [] }, [status], now);
  return alertsOf(
    thresholdPipeline,
    { latest: [], checks, measurements: [], intervalSeconds: () => null, ownLag: null },
    now,
  );
}

it('counts a failing threshold as firing, with its severity', () => {
  expect(alertsOfVerdict('critical', 1)).toMatchObject([{ name: NAME, severity: 'critical', goldenSet: null }]);
  expect(alertsOfVerdict('warning', 1)).toMatchObject([{ name: NAME, severity: 'warning', goldenSet: null }]);
});

it('does not count a passing threshold or an outdated evaluation as firing', () => {
  expect(alertsOfVerdict('ok', 1)).toEqual([]);
  expect(alertsOfVerdict('no_data', 1)).toEqual([]);
  expect(alertsOfVerdict('critical', 60)).toEqual([]);
});

const pipeline = aWatchedPipeline({ checks: goldenChecks({ floors: [aFloor()] }) });
const FLOOR = 'ndcg@10 below 0.8 on faq';

/** Returns the names of the firing alerts for an hourly set and these facts. */
function alertsAt(now: Date, facts: Partial<AlertFacts>): string[] {
  const all = {
    latest: [],
    checks: [],
    measurements: [],
    intervalSeconds: () => 3600,
    ownLag: null,
    ...facts,
  };
  return alertsOf(pipeline, all, now).map(({ name }) => name);
}

function ended(parts: Partial<NonNullable<LatestRun['ended']>>): LatestRun {
  const run = aLatestRun();
  if (run.ended === null) throw new Error('the builder makes a run that ended');
  return { ...run, ended: { ...run.ended, ...parts } };
}

describe('the firing alerts of a pipeline', () => {
  it('are empty while runs complete and their checks pass', () => {
    expect(alertsAt(hours(1), { latest: [aLatestRun()] })).toEqual([]);
  });

  it('include the check that a run failed, with its golden set', async () => {
    const check = {
      name: FLOOR,
      severity: 'critical',
      value: 0.7,
      ciLow: null,
      ciHigh: null,
      n: null,
      isBeyond: true,
      threshold: 0.8,
      explanation: 'It is 0.7.',
    } as const;
    const latest = [ended({ checks: [{ ...check, verdict: 'critical' }] })];
    const checks = await statesAt({ pipelines: [pipeline] }, { latest }, { evaluatedAt: hours(1) });
    const facts = { checks, measurements: [], latest, intervalSeconds: () => 3600, ownLag: null };
    expect(alertsOf(pipeline, facts, hours(1))).toEqual([
      {
        name: FLOOR,
        rule: 'RecalldCheckCritical',
        severity: 'critical',
        goldenSet: 'faq',
        headline: 'nDCG@10 on faq 0.7, below 0.8',
        text: 'nDCG@10 on faq dropped to 0.7, below 0.8, at 12:00 UTC on 2026-11-20.',
        value: 0.7,
        threshold: 0.8,
        measured: { measure: 'ndcg@10', segment: 'golden_set=faq' },
      },
    ]);
  });

  it('state the share of poorly covered traffic in the headline of drift, unless that share is back at the baseline', () => {
    const checks = [
      aCheckState({ pipeline: pipeline.name, kind: 'density_drift', measure: 'density_drift', value: 2 }),
    ];
    const facts = { checks, latest: [], intervalSeconds: () => null, ownLag: null };
    const alertWith = (value: number) =>
      alertsOf(
        pipeline,
        { ...facts, measurements: latestAt(NOON, aMeasurement({ measure: 'query_uncovered_ratio', value })) },
        NOON,
      )[0];
    expect(alertWith(0.22)?.headline).toBe('22 % of traffic poorly covered, 5 % in the baseline');
    expect(alertWith(0.22)?.text).toMatch(
      /^22 % of traffic poorly covered, 5 % in the baseline\. .*: drift confirmed\.$/,
    );
    expect(alertWith(0.03)?.headline).toBe('live queries are less well covered than in the baseline');
    expect(alertWith(0.22)?.from).toEqual(aMeasurement().windowStart);
  });

  it('include a golden set that has not run for three intervals, but not one that is run manually', () => {
    const latest = [aLatestRun({ lastAttemptAt: NOON })];
    expect(alertsAt(hours(3), { latest })).toEqual([]);
    expect(alertsAt(hours(3.01), { latest })).toContain('runs of faq are overdue');
    expect(alertsAt(hours(300), { latest, intervalSeconds: () => null })).not.toContain('runs of faq are overdue');
  });

  it('include an incomplete run that follows a completed one', () => {
    expect(alertsAt(hours(1), { latest: [ended({ finishedAt: hours(0.5) })] })).toEqual([
      'the latest run of faq did not complete',
    ]);
  });

  it('include a retriever that fails one query in twenty, whether by errors or timeouts', () => {
    const outcomes = { ok: 95, empty: 0, error: 2, timeout: 3 };
    expect(alertsAt(hours(1), { latest: [ended({ outcomes })] })).toEqual(['golden queries of faq fail']);
    expect(alertsAt(hours(1), { latest: [ended({ outcomes: { ...outcomes, timeout: 2 } })] })).toEqual([]);
  });

  it('include a drop in feedback, and a measure outside its normal range', () => {
    const drop = aMeasurement({
      measure: 'feedback_drop_evidence_ratio',
      value: 3,
      details: { baseline_positive_ratio: 0.8, positive_ratio: 0.33 },
    });
    const results = aMeasurement({ measure: 'results_per_answer', value: 3, ciLow: 2.9, ciHigh: 3.1 });
    const answers = { measure: 'rbo', segment: 'golden_set=faq', value: 0.5, ciLow: 0.4, ciHigh: 0.6 };
    const normal = (range: object, segment = 'all') =>
      aMeasurement({ measure: 'measures_normal', segment, details: { ...range } });
    const series = [
      drop,
      results,
      aMeasurement(answers),
      aMeasurement({ measure: 'latency_p95_seconds', value: 0.776, ciLow: 0.7, ciHigh: 0.8 }),
      normal({
        results_per_answer: { normal: 10, low: 6.5, high: 13.5, n: 40 },
        latency_p95_seconds: { normal: 0.0385, low: 0, high: 0.2, n: 40 },
      }),
      normal({ rbo: { normal: 0.98, low: 0.88, high: 1.08, n: 40 } }, 'golden_set=faq'),
    ];
    const factsAt = (at: Date) => ({
      latest: [],
      checks: [],
      measurements: latestAt(at, ...series),
      intervalSeconds: () => 3600,
      ownLag: null,
    });
    const facts = factsAt(NOON);
    expect(alertsOf(pipeline, facts, NOON)).toMatchObject([
      { rule: 'RecalldMeasureChanged', goldenSet: null, headline: 'live latency p95 776 ms (normally 38.5 ms)' },
      { rule: 'RecalldFeedbackFell', severity: 'warning', headline: 'positive feedback 33 %, previously 80 %' },
      {
        rule: 'RecalldMeasureChanged',
        goldenSet: 'faq',
        headline: 'result stability (RBO) on faq 0.5 (normally 0.98)',
      },
      { rule: 'RecalldMeasureChanged', goldenSet: null, headline: 'results per query 3 (normally 10)' },
    ]);
    expect(changedMeasures(facts, NOON)).toEqual([
      'feedback_positive_ratio',
      'results_per_answer',
      'latency_p95_seconds',
      'rbo',
    ]);
    expect(alertsOf(pipeline, factsAt(hours(24)), hours(24))).toEqual([]);
  });

  it('include a drop in judged live relevance, with the severity that human judgments justify, and a judge that changed within the last day', () => {
    const fall = (state: string) =>
      aMeasurement({ measure: 'live_ndcg_drop', value: 0.08, ciLow: 0.02, ciHigh: 0.14, details: { state } });
    const severities = (now: Date, ...outcomes: Measurement[]) =>
      alertsOf(
        pipeline,
        { latest: [], checks: [], measurements: latestAt(now, ...outcomes), intervalSeconds: () => null, ownLag: null },
        now,
      ).map(({ rule, severity }) => `${rule} ${severity}`);
    expect(severities(hours(1), fall('detected'))).toEqual(['RecalldLiveRelevanceFellTicket warning']);
    const drift = aMeasurement({ measure: 'judge_drift', details: { changed_at: NOON.toISOString() } });
    expect(severities(hours(1), fall('confirmed'), drift)).toEqual([
      'RecalldLiveRelevanceFell critical',
      'RecalldJudgeChanged warning',
    ]);
    // The measured drop is older than three hours, so it is no longer valid, and the judge changed more than a day ago.
    expect(severities(hours(25), fall('confirmed'), drift)).toEqual([]);
    expect(severities(hours(1), fall('rejected'), drift)).toEqual(['RecalldJudgeChanged warning']);
  });

  it('include a run whose latencies are unreliable because recalld lacked processor time', () => {
    const run = ended({ durationSeconds: 30 });
    const finishedAt = run.ended?.finishedAt ?? NOON;
    let now = finishedAt;
    const lag = createLagHistory({ ...systemClock, now: () => now }, 0.1);
    const facts = { latest: [run], ownLag: lag };
    lag.record(0.2, 0);
    expect(alertsAt(finishedAt, facts)).toEqual(['latencies of faq are not evaluated']);
    now = new Date(finishedAt.getTime() - 5 * MINUTE_MS);
    for (let time = 0; time < 9; time++) lag.record(0, 0);
    expect(alertsAt(finishedAt, facts)).toEqual([]);
  });

  it('exclude runs of other pipelines', () => {
    expect(alertsAt(hours(9), { latest: [aLatestRun({ pipeline: 'other' })] })).toEqual([]);
  });

  it('include a changed embedding canary, and an index that significantly misses neighbors', () => {
    const measurements = latestAt(
      NOON,
      aMeasurement({
        measure: 'embedding_canary_median',
        value: 0.4,
        ciLow: 0.3,
        ciHigh: 0.5,
        details: { verdict: 'changed' },
      }),
      aMeasurement({ measure: 'ann_recall', value: 0.7, ciLow: 0.6, ciHigh: 0.8 }),
    );
    expect(alertsAt(NOON, { measurements })).toEqual(['embedding canary changed', 'low index recall']);
  });

  it('exclude an index whose recall may still be sufficient', () => {
    const recall = aMeasurement({ measure: 'ann_recall', value: 0.85, ciLow: 0.7, ciHigh: 0.95 });
    expect(alertsAt(NOON, { measurements: latestAt(NOON, recall) })).toEqual([]);
  });

  it('include an index whose changes arrive late, as measured by the lower bound of the delay', () => {
    const lag = (parts: Parameters<typeof aMeasurement>[0]) =>
      aMeasurement({
        measure: 'index_lag_seconds',
        value: 9000,
        ciLow: 7200,
        ciHigh: 12_000,
        details: { waiting: 3, overdue: 3, late_after_seconds: 3600 },
        ...parts,
      });
    const alerts = (parts: Parameters<typeof aMeasurement>[0]) =>
      alertsAt(NOON, { measurements: latestAt(NOON, lag(parts)) });
    expect(alerts({})).toEqual(['changes reach the index late']);
    // All late changes have arrived.
    expect(alerts({ details: { waiting: 1, overdue: 0, late_after_seconds: 3600 } })).toEqual([]);
    expect(alerts({ ciLow: 3000 })).toEqual([]);
    // Fewer than 19 of 20 changes have arrived, so the value is the longest wait, without bounds.
    expect(alerts({ ciLow: null, ciHigh: null })).toEqual(['changes reach the index late']);
  });

  it('list critical alerts before warnings', () => {
    const recall = aMeasurement({ measure: 'ann_recall', value: 0.7, ciLow: 0.6, ciHigh: 0.8 });
    const latest = [ended({ outcomes: { ok: 0, empty: 0, error: 3, timeout: 0 } })];
    expect(alertsAt(NOON, { latest, measurements: latestAt(NOON, recall) })).toEqual([
      'golden queries of faq fail',
      'low index recall',
    ]);
  });
});

it('names the retriever error, and the measured recovery', () => {
  const message = 'http://rag/search refused the connection';
  const failure = { message, code: 'connection_refused', queries: 28, others: 0, notAsked: 72, total: 100 };
  const down = ended({ outcomes: { ok: 0, empty: 0, error: 100, timeout: 0 }, failure });
  const facts = { checks: [], measurements: [], intervalSeconds: () => 3600, ownLag: null };
  const alerts = alertsOf(pipeline, { ...facts, latest: [down] }, hours(1));
  expect(alerts).toMatchObject([
    { headline: 'retriever down (connection refused)', text: expect.stringContaining(message) as string },
  ]);
  const timeline = updateTimelines([], alerts, hours(1));
  const again = ended({ outcomes: { ok: 100, empty: 0, error: 0, timeout: 0 } });
  expect([...recoveriesOf(timeline, { ...facts, latest: [again] }).values()]).toEqual([
    'retriever responds again (100 % of golden queries succeed)',
  ]);
  expect(recoveriesOf(timeline, { ...facts, latest: [down] }).size).toBe(0);
});

const factsOf = (checks: readonly CheckState[], measurements: AlertFacts['measurements'] = []): AlertFacts => ({
  latest: [],
  checks,
  measurements,
  intervalSeconds: () => 3600,
  ownLag: null,
});

describe('an alert that fired before', () => {
  const open = updateTimelines([], [anAlert({ name: NAME, text: 'It was 0.9 s.' })], NOON);
  const stillFiring = (verdict: Verdict) => {
    const check = { pipeline: thresholdPipeline.name, name: NAME, verdict } as CheckState;
    return withoutData(open, factsOf([check]), thresholdPipeline.name, NOON);
  };

  it('keeps firing while its check has no data', () => {
    expect(stillFiring('no_data')).toMatchObject([
      { name: NAME, severity: 'critical', text: 'It was 0.9 s. No data since then.' },
    ]);
  });

  it('resolves when its check passes, is reported only once while the check fails, and is removed with its check', () => {
    expect(stillFiring('ok')).toEqual([]);
    expect(stillFiring('critical')).toEqual([]);
    expect(withoutData(open, factsOf([]), thresholdPipeline.name, NOON)).toEqual([]);
  });

  it('keeps firing while its measure has no recent value, unless the measure is no longer watched', () => {
    const range = { results_per_answer: { normal: 10, low: 6.5, high: 13.5, n: 40 } };
    const results = aMeasurement({ measure: 'results_per_answer', value: 3, ciLow: 2.9, ciHigh: 3.1 });
    const ranges = (details: object) => aMeasurement({ measure: 'measures_normal', details: { ...details } });
    const later = hours(12);
    const firing = alertsOf(pipeline, factsOf([], latestAt(NOON, results, ranges(range))), NOON);
    const timeline = updateTimelines([], firing, NOON);
    const at = (now: Date, details: object) =>
      withoutData(timeline, factsOf([], latestAt(now, results, ranges(details))), 'docs', now);
    expect(at(NOON, range)).toEqual([]);
    expect(at(later, range)).toMatchObject([{ rule: 'RecalldMeasureChanged', severity: 'warning', value: null }]);
    expect(at(later, {})).toEqual([]);
  });

  const part = (kind: 'check' | 'golden_set', name: string, endedAt: Date | null = null) => ({
    pipeline: thresholdPipeline.name,
    kind,
    name,
    endedAt,
  });
  const configuredCheck = { name: NAME, pipeline: thresholdPipeline.name } as CheckState;

  it('keeps firing in a process whose config lacks its check, while another active config has the check', () => {
    const inForce = [part('check', NAME)];
    expect(carriedOver(open, [], [], inForce)).toMatchObject([{ name: NAME, severity: 'critical' }]);
    expect(carriedOver(open, [], [configuredCheck], inForce)).toEqual([]);
    expect(carriedOver(open, [], [], [])).toEqual([]);
  });

  it('counts as removed once no active config has its check or golden set', () => {
    const [alert = anAlert()] = open;
    const gone = [part('check', NAME, NOON)];
    expect(hasLeftConfig(alert, gone)).toBe(true);
    expect(carriedOver(open, [], [], gone)).toEqual([]);
    expect(hasLeftConfig(alert, [part('check', NAME)])).toBe(false);
    expect(hasLeftConfig(alert, [])).toBe(false);
    const ofSet = anAlert({ name: 'runs of faq are overdue', goldenSet: 'faq' });
    expect(hasLeftConfig(ofSet, [part('golden_set', 'faq', NOON)])).toBe(true);
    expect(hasLeftConfig(ofSet, [part('golden_set', 'other', NOON)])).toBe(false);
  });
});

describe('a probe measurement', () => {
  it('is trusted while it is fresh, and withheld when it is old', () => {
    const recall = aMeasurement({ measure: 'ann_recall', value: 0.95, ciLow: 0.9, ciHigh: 0.99 });
    expect(trusted(latestAt(NOON, recall), 'ann_recall')).toMatchObject({ value: 0.95 });
    expect(trusted(latestAt(hours(24 * 30), recall), 'ann_recall')).toBeNull();
    expect(trusted(latestAt(NOON, recall), 'embedding_canary_median')).toBeNull();
  });
});
