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
/** Never called: the pipeline only needs to have a store. */
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

/** A run that ended at noon, and whose check has this verdict. */
function endedWith(verdict: Verdict, parts: Partial<LatestRun> = {}): LatestRun {
  const ended = aLatestRun().ended;
  if (ended === null) throw new Error('the builder makes a run that ended');
  return aLatestRun({ ended: { ...ended, checks: [aCheck(verdict)] }, ...parts });
}

/**
 * Returns the status of `docs` at `seconds` seconds after noon. The golden set runs hourly; live traffic is measured
 * every 5 minutes.
 */
async function statusAt(
  seconds: number,
  latest: readonly LatestRun[] = [endedWith('ok')],
  outcomes: readonly MeasurementOutcome[] = [samplesRead],
  pipeline: WatchedPipeline = checked,
): Promise<PipelineStatus> {
  const now = new Date(NOON.getTime() + seconds * 1000);
  const facts = {
    latest,
    measurements: latestAt(now, ...outcomes),
    // The worker is dead: the checks were last evaluated at noon.
    checks: await statesAt({ pipelines: [pipeline] }, { latest }, { evaluatedAt: NOON, readAt: now }),
    intervalSeconds: () => HOUR,
    liveIntervalSeconds: 300,
    ownLag: null,
  };
  return pipelineStatus(pipeline, facts, now);
}

describe('pipelineStatus', () => {
  it('is ok if all checks pass and all required data is fresh', async () => {
    expect(await statusAt(60)).toMatchObject({ pipeline: 'docs', state: 'ok', reasons: [] });
  });

  it.each(['warning', 'critical', 'no_data'] as const)(
    'is %s if a check has this verdict, with the explanation of the check as the reason',
    async (verdict) => {
      expect(await statusAt(60, [endedWith(verdict)])).toMatchObject({
        state: verdict,
        reasons: [{ sentence: `${FLOOR}: It is 0.9.` }],
      });
    },
  );

  const late = 3 * HOUR + 1;
  const freshRead = {
    ...samplesRead,
    windowEnd: new Date(NOON.getTime() + late * 1000),
    measuredAt: new Date(NOON.getTime() + late * 1000),
  };

  it.each(['ok', 'critical'] as const)(
    'is no_data if the run with verdict %s is older than three intervals',
    async (verdict) => {
      const status = await statusAt(late, [endedWith(verdict)], [freshRead]);
      expect(status.state).toBe('no_data');
      expect(status.reasons.map(({ sentence }) => sentence)).toEqual([
        `${FLOOR}: the last evaluation is too old to trust.`,
        'The last completed run of the golden set faq is too old to trust.',
      ]);
      expect(status.golden).toMatchObject([{ completed: { ageSeconds: late, isTooOld: true } }]);
    },
  );

  it('is no_data before the first run', async () => {
    expect(await statusAt(60, [])).toMatchObject({
      state: 'no_data',
      reasons: [
        { sentence: `${FLOOR}: not evaluated yet.` },
        { sentence: 'No run of the golden set faq has completed yet.' },
      ],
    });
  });

  it('is no_data if the last run is void or failed, even while an earlier run is fresh', async () => {
    const before = aCompletedRun({ finishedAt: new Date(NOON.getTime() - 60_000) });
    const status = await statusAt(60, [endedWith('ok', { completed: before })]);
    expect(status).toMatchObject({
      state: 'no_data',
      reasons: [{ sentence: 'The last run of the golden set faq produced no scores.' }],
    });
  });

  it('is no_data without a configured check', async () => {
    expect(await statusAt(60, [endedWith('ok')], [samplesRead], aWatchedPipeline())).toMatchObject({
      state: 'no_data',
      checks: [],
    });
  });

  it('is no_data if live traffic is no longer measured, or never was', async () => {
    expect((await statusAt(900)).state).toBe('ok');
    expect(await statusAt(901)).toMatchObject({
      state: 'no_data',
      reasons: [{ sentence: expect.stringMatching(/^Live traffic: last measured .+ ago, too long ago to trust\.$/) }],
    });
    expect(await statusAt(60, [endedWith('ok')], [])).toMatchObject({
      state: 'no_data',
      reasons: [{ sentence: 'Live traffic has not been measured yet.' }],
    });
  });

  it('is no_data if the store or the embedder was not probed, or the probe failed', async () => {
    const whole = { ...checked, store: aStore, embedder: memoryEmbedder({}) };
    const vectors = aMeasurement({ measure: 'store_vectors', value: 10, ciLow: null, ciHigh: null });
    const canary = aMeasurement({ measure: 'embedding_canary_median', value: 1, ciLow: null, ciHigh: null });
    const of = (...outcomes: MeasurementOutcome[]) =>
      statusAt(60, [endedWith('ok')], [samplesRead, ...outcomes], whole);
    expect(await of(vectors, canary)).toMatchObject({ state: 'ok' });
    expect((await of(vectors)).reasons.map(({ sentence }) => sentence)).toEqual([
      'The embedder has not been measured yet.',
    ]);
    const failed = aGap({ measure: 'store_vectors', reason: 'store_failed' });
    expect((await of(failed, canary)).reasons.map(({ sentence }) => sentence)).toEqual([
      'The vector store could not be measured: the store did not respond.',
    ]);
    // A store that cannot count its vectors has not failed.
    expect(await of({ ...failed, reason: 'unsupported' }, canary)).toMatchObject({ state: 'ok' });
  });

  it('ignores segments without recent traffic and measures without queries', async () => {
    const gone = aMeasurement({ segment: 'lang=fr', measuredAt: new Date(NOON.getTime() - 86_400_000) });
    const none = aGap({ measure: 'zero_results_ratio', reason: 'no_queries' });
    const status = await statusAt(60, [endedWith('ok')], [gone, samplesRead, none]);
    expect(status.state).toBe('ok');
    expect(status.measurements.map(({ measure, isTooOld }) => [measure, isTooOld])).toEqual([
      ['error_ratio', true],
      ['samples_read_ratio', false],
      ['zero_results_ratio', false],
    ]);
  });

  it('lists sets that were run manually, without expecting further runs', async () => {
    const old = new Date(NOON.getTime() - 100 * 24 * HOUR * 1000);
    const ended = endedWith('ok', { goldenSet: 'extra' }).ended;
    const other = aLatestRun({
      goldenSet: 'extra',
      ended: ended === null ? null : { ...ended, finishedAt: old },
      completed: aCompletedRun({ finishedAt: old }),
    });
    const status = await statusAt(60, [endedWith('ok'), other]);
    expect(status.state).toBe('ok');
    expect(status.golden.map(({ goldenSet, cron }) => [goldenSet, cron])).toEqual([
      ['faq', '0 * * * *'],
      ['extra', null],
    ]);
  });

  it('is no_data if the last manual run of a set failed', async () => {
    const other = aLatestRun({ goldenSet: 'extra', completed: null });
    expect(await statusAt(60, [endedWith('ok'), other])).toMatchObject({
      state: 'no_data',
    });
  });

  const failure = {
    message: 'http://rag/search refused the connection.',
    code: 'connection_refused',
    queries: 28,
    others: 0,
    notAsked: 12,
    total: 40,
  };

  it('includes the error of the retriever for both a void run and a completed run', async () => {
    const ended = endedWith('ok').ended;
    if (ended === null) throw new Error('the builder makes a run that ended');
    const error = 'http://rag/search refused the connection (28 of 40 queries; 12 more were not sent).';
    const failed = { ...ended, failure, outcomes: { ok: 0, empty: 0, error: 40, timeout: 0 } };
    const before = aCompletedRun({ finishedAt: new Date(NOON.getTime() - 60_000) });
    const run = await statusAt(60, [aLatestRun({ ended: failed, completed: before })]);
    expect(run.reasons.map(({ sentence }) => sentence)).toContain(
      `The last run of the golden set faq produced no scores: ${error}`,
    );
    const scored = await statusAt(60, [aLatestRun({ ended: failed })]);
    expect(scored.state).toBe('critical');
    expect(scored.reasons.map(({ sentence }) => sentence)).toContain(
      `100 % of the queries in the last run of the golden set faq failed: ${error}`,
    );
  });

  it('lists values that are too old as unknowns of a healthy pipeline', async () => {
    const old = {
      ...aMeasurement({ measure: 'ann_recall', value: 1, ciLow: null, ciHigh: null }),
      measuredAt: new Date(NOON.getTime() - DAY),
    };
    const status = await statusAt(
      60,
      [endedWith('ok')],
      [samplesRead, { ...old, windowStart: old.measuredAt, windowEnd: old.measuredAt }],
    );
    expect(status).toMatchObject({ state: 'ok', reasons: [] });
    expect(healthySentence(status.unknowns)).toBe(
      `No alert is firing, but some data is missing. ${status.unknowns[0]}`,
    );
    expect(healthySentence(['One.', 'Two.', 'Three.'])).toMatch(/ One\. And 2 more\.$/);
    expect(healthySentence([])).toBe('All checks pass; all data is fresh.');
    expect(status.unknowns).toEqual([expect.stringMatching(/: last measured .+ ago, too long ago to trust\.$/)]);
  });

  it('is never ok without any data for three intervals, whatever the last verdict', async () => {
    const verdict = fc.constantFrom<Verdict>('ok', 'warning', 'critical', 'no_data');
    const seconds = fc.integer({ min: 3 * HOUR + 1, max: 1_000_000 });
    await fc.assert(
      fc.asyncProperty(verdict, seconds, async (found, after) => {
        expect((await statusAt(after, [endedWith(found)])).state).toBe('no_data');
      }),
    );
  });
});
