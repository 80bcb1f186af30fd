import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CheckResult } from '../../../../src/checks/rules/threshold.ts';
import type { VectorStore } from '../../../../src/connectors/stores/vector-store.ts';
import type { Verdict } from '../../../../src/core/model.ts';
import type { LatestRun } from '../../../../src/golden/sql/latest-runs.ts';
import type { WatchedPipeline } from '../../../../src/golden/watched-pipeline.ts';
import type { MeasurementOutcome } from '../../../../src/measures/rules/measurement.ts';
import { healthySentence, type PipelineStatus, pipelineStatus } from '../../../../src/report/status/pipeline-status.ts';
import { aCompletedRun, aFloor, aLatestRun, aWatchedPipeline, goldenChecks, NOON } from '../../../support/builders.ts';
import { statesAt } from '../../../support/check-states.ts';
import { aGap, aMeasurement, latestAt } from '../../../support/measurements.ts';
import { memoryEmbedder } from '../../../support/memory-embedder.ts';

const HOUR = 3600;
const DAY = 24 * HOUR * 1000;
const FLOOR = 'ndcg@10 below 0.8 on faq';

const samplesRead = aMeasurement({ measure: 'samples_read_ratio', value: 1, ciLow: null, ciHigh: null });
const checked = aWatchedPipeline({ checks: goldenChecks({ floors: [aFloor()] }) });
/** Nobody asks it: what counts is that the pipeline has one. */
const aStore = {} as VectorStore;

function aCheck(verdict: Verdict): CheckResult {
  return {
    name: FLOOR,
    severity: 'critical',
    verdict,
    value: 0.9,
    ciLow: null,
    ciHigh: null,
    n: null,
    isBeyond: false,
    threshold: 0.8,
    explanation: 'It is 0.9.',
  };
}

/** A run that ended at noon with this verdict on the floor. */
function judged(verdict: Verdict, parts: Partial<LatestRun> = {}): LatestRun {
  const ended = aLatestRun().ended;
  if (ended === null) throw new Error('the builder makes a run that ended');
  return aLatestRun({ ended: { ...ended, checks: [aCheck(verdict)] }, ...parts });
}

/** The status of `docs`, whose set is hourly and whose traffic is measured every 5 minutes, so many seconds after noon. */
async function statusAt(
  seconds: number,
  latest: readonly LatestRun[] = [judged('ok')],
  outcomes: readonly MeasurementOutcome[] = [samplesRead],
  pipeline: WatchedPipeline = checked,
): Promise<PipelineStatus> {
  const now = new Date(NOON.getTime() + seconds * 1000);
  const facts = {
    latest,
    measurements: latestAt(now, ...outcomes),
    // Nobody has evaluated them since noon: the worker is dead.
    checks: await statesAt({ pipelines: [pipeline] }, { latest }, { evaluatedAt: NOON, readAt: now }),
    intervalSeconds: () => HOUR,
    liveIntervalSeconds: 300,
  };
  return pipelineStatus(pipeline, facts, now);
}

describe('the state of a pipeline', () => {
  it('is ok when every check is and all that must be fresh is fresh', async () => {
    expect(await statusAt(60)).toMatchObject({ pipeline: 'docs', state: 'ok', reasons: [] });
  });

  it.each(['warning', 'critical', 'no_data'] as const)('is %s when a check is, with its sentence', async (verdict) => {
    expect(await statusAt(60, [judged(verdict)])).toMatchObject({
      state: verdict,
      reasons: [{ sentence: `${FLOOR}: It is 0.9.` }],
    });
  });

  const late = 3 * HOUR + 1;
  const freshRead = {
    ...samplesRead,
    windowEnd: new Date(NOON.getTime() + late * 1000),
    measuredAt: new Date(NOON.getTime() + late * 1000),
  };

  it.each(['ok', 'critical'] as const)(
    'is no_data when the run that found it %s is older than three intervals',
    async (verdict) => {
      const status = await statusAt(late, [judged(verdict)], [freshRead]);
      expect(status.state).toBe('no_data');
      expect(status.reasons.map(({ sentence }) => sentence)).toEqual([
        `${FLOOR}: the run that judged it last is too old to trust.`,
        'The last run of faq that completed is too old to trust.',
      ]);
      expect(status.golden).toMatchObject([{ completed: { ageSeconds: late, isTooOld: true } }]);
    },
  );

  it('is no_data when no run was ever made', async () => {
    expect(await statusAt(60, [])).toMatchObject({
      state: 'no_data',
      reasons: [{ sentence: `${FLOOR}: no run has judged it yet.` }, { sentence: 'No run of faq has completed yet.' }],
    });
  });

  it('is no_data when the last run is void or failed, though an earlier one is still fresh', async () => {
    const before = aCompletedRun({ finishedAt: new Date(NOON.getTime() - 60_000) });
    const status = await statusAt(60, [judged('ok', { completed: before })]);
    expect(status).toMatchObject({
      state: 'no_data',
      reasons: [{ sentence: 'The last run of faq is void or failed.' }],
    });
  });

  it('is no_data when nothing is checked, so that nothing says whether it is well', async () => {
    expect(await statusAt(60, [judged('ok')], [samplesRead], aWatchedPipeline())).toMatchObject({
      state: 'no_data',
      checks: [],
    });
  });

  it('is no_data when live traffic is no longer measured, or never was', async () => {
    expect((await statusAt(900)).state).toBe('ok');
    expect(await statusAt(901)).toMatchObject({
      state: 'no_data',
      reasons: [{ sentence: 'Live traffic was measured too long ago to trust.' }],
    });
    expect(await statusAt(60, [judged('ok')], [])).toMatchObject({
      state: 'no_data',
      reasons: [{ sentence: 'Live traffic has not been measured yet.' }],
    });
  });

  it('is no_data when its store or its embedder is not looked at, or could not be', async () => {
    const whole = { ...checked, store: aStore, embedder: memoryEmbedder({}) };
    const vectors = aMeasurement({ measure: 'store_vectors', value: 10, ciLow: null, ciHigh: null });
    const canary = aMeasurement({ measure: 'embedding_canary_median', value: 1, ciLow: null, ciHigh: null });
    const of = (...outcomes: MeasurementOutcome[]) => statusAt(60, [judged('ok')], [samplesRead, ...outcomes], whole);
    expect(await of(vectors, canary)).toMatchObject({ state: 'ok' });
    expect((await of(vectors)).reasons.map(({ sentence }) => sentence)).toEqual([
      'The embedder has not been measured yet.',
    ]);
    const failed = aGap({ measure: 'store_vectors', reason: 'store_failed' });
    expect((await of(failed, canary)).reasons.map(({ sentence }) => sentence)).toEqual([
      'The vector store could not be measured: the store did not answer.',
    ]);
    // A store that cannot count is none that fails.
    expect(await of({ ...failed, reason: 'unsupported' }, canary)).toMatchObject({ state: 'ok' });
  });

  it('does not mind a segment that nobody asks about any more, nor a measure without traffic', async () => {
    const gone = aMeasurement({ segment: 'lang=fr', measuredAt: new Date(NOON.getTime() - 86_400_000) });
    const none = aGap({ measure: 'zero_results_ratio', reason: 'no_queries' });
    const status = await statusAt(60, [judged('ok')], [gone, samplesRead, none]);
    expect(status.state).toBe('ok');
    expect(status.measurements.map(({ measure, isTooOld }) => [measure, isTooOld])).toEqual([
      ['error_ratio', true],
      ['samples_read_ratio', false],
      ['zero_results_ratio', false],
    ]);
  });

  it('tells of sets that ran by hand, and expects no run of them', async () => {
    const old = new Date(NOON.getTime() - 100 * 24 * HOUR * 1000);
    const ended = judged('ok', { goldenSet: 'extra' }).ended;
    const other = aLatestRun({
      goldenSet: 'extra',
      ended: ended === null ? null : { ...ended, finishedAt: old },
      completed: aCompletedRun({ finishedAt: old }),
    });
    const status = await statusAt(60, [judged('ok'), other]);
    expect(status.state).toBe('ok');
    expect(status.golden.map(({ goldenSet, cron }) => [goldenSet, cron])).toEqual([
      ['faq', '0 * * * *'],
      ['extra', null],
    ]);
  });

  it('is no_data when the last run of a set by hand failed: its alert fires', async () => {
    const other = aLatestRun({ goldenSet: 'extra', completed: null });
    expect(await statusAt(60, [judged('ok'), other])).toMatchObject({
      state: 'no_data',
      reasons: [{ sentence: 'The last run of extra is void or failed.' }],
    });
  });

  const failure = {
    message: 'http://rag/search refuses connections.',
    code: 'connection_refused',
    queries: 28,
    others: 0,
    notAsked: 12,
    total: 40,
  };

  it('tells what the retriever failed with, where a run is void and where it scored', async () => {
    const ended = judged('ok').ended;
    if (ended === null) throw new Error('the builder makes a run that ended');
    const told = 'http://rag/search refuses connections (28 of 40 queries, 12 more were not asked after that).';
    const failed = { ...ended, failure, outcomes: { ok: 0, empty: 0, error: 40, timeout: 0 } };
    const before = aCompletedRun({ finishedAt: new Date(NOON.getTime() - 60_000) });
    const run = await statusAt(60, [aLatestRun({ ended: failed, completed: before })]);
    expect(run.reasons.map(({ sentence }) => sentence)).toContain(`The last run of faq is void or failed: ${told}`);
    const scored = await statusAt(60, [aLatestRun({ ended: failed })]);
    expect(scored.state).toBe('critical');
    expect(scored.reasons.map(({ sentence }) => sentence)).toContain(
      `The retriever failed queries of the last run of faq: ${told}`,
    );
  });

  it('says that not everything is known where a check has no data, or a value is too old, and names it', async () => {
    const old = {
      ...aMeasurement({ measure: 'ann_recall', value: 1, ciLow: null, ciHigh: null }),
      measuredAt: new Date(NOON.getTime() - DAY),
    };
    const status = await statusAt(
      60,
      [judged('ok')],
      [samplesRead, { ...old, windowStart: old.measuredAt, windowEnd: old.measuredAt }],
    );
    expect(status).toMatchObject({ state: 'ok', reasons: [] });
    expect(healthySentence(status)).toBe('Nothing is in alarm. Not everything is known:');
    expect(status.unknowns).toEqual([expect.stringMatching(/ was measured too long ago to trust\.$/)]);
  });

  it('is never ok after everything has been silent for three intervals, whatever was seen before', async () => {
    const verdict = fc.constantFrom<Verdict>('ok', 'warning', 'critical', 'no_data');
    const seconds = fc.integer({ min: 3 * HOUR + 1, max: 1_000_000 });
    await fc.assert(
      fc.asyncProperty(verdict, seconds, async (found, after) => {
        expect((await statusAt(after, [judged(found)])).state).toBe('no_data');
      }),
    );
  });
});
