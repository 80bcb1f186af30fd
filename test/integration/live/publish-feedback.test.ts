/** Feedback from a window appears in the gauges. */

import { beforeAll, describe, expect, it } from 'vitest';
import type { LivePlan } from '../../../src/live/context.ts';
import { measureFeedback } from '../../../src/live/measure-feedback.ts';
import { liveGauges } from '../../../src/live/publish-live.ts';
import type { StoredFeedback } from '../../../src/live/sql/feedback-rows.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import type { GaugeSample } from '../../../src/platform/metrics/meter.ts';
import { NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { aSample, aStoredFeedback } from '../../support/live-traffic.ts';
import { hours } from '../../support/measurements.ts';

const database = useDatabase();
const HOUR = 3_600_000;
let pipelines = 0;
let people = 0;

beforeAll(() => createLiveTraffic(database.pool, 'a').createPartitions(NOON));

/** Positive ratings from different people. In these tests, the id of a sampled query is its language. */
const said = (opinions: number, parts: Partial<StoredFeedback> = {}): StoredFeedback[] =>
  Array.from({ length: opinions }, () => {
    const person = `person-${(people += 1)}`;
    return aStoredFeedback({ id: person, userHash: person, occurredAt: hours(-1), ...parts });
  });

/** Returns the gauges as of the given number of seconds after the measurement at noon. */
async function gaugesAt(
  seconds: number,
  feedback: readonly StoredFeedback[],
  watched?: string,
  parts: Partial<LivePlan> = {},
) {
  const pipeline = `docs-${(pipelines += 1)}`;
  const traffic = createLiveTraffic(database.pool, 'a');
  const samples = ['en', 'de', 'fr'].map((lang) => aSample({ pipeline, id: lang, segments: { lang } }));
  await traffic.record({ samples, counts: [], levels: [] });
  await traffic.recordFeedback(feedback.map((one) => ({ ...one, pipeline })));
  const measurements = createMeasurements(database.pool);
  const plan: LivePlan = {
    pipeline,
    windowMs: 24 * HOUR,
    baselineMs: 7 * 24 * HOUR,
    segmentKeys: ['lang'],
    maxSegments: 1,
    idleMs: 600_000,
    expectsEpisodes: false,
    samplesAll: true,
    ...parts,
  };
  const clock = new HandClock(NOON);
  const falsePages = { count: 1, periodMs: 90 * 24 * HOUR };
  const deps = contextOf({ db: { live: { traffic }, measurements }, clock, livePlans: [plan], falsePages });
  await measureFeedback(deps, new AbortController().signal);
  const settings = { pipelines: [watched ?? pipeline], intervalSeconds: 300 };
  const gauges = liveGauges(settings, { measurements: await measurements.latest(NOON) });
  return gauges(new Date(NOON.getTime() + seconds * 1000));
}

function valuesOf(samples: readonly GaugeSample[], name: string, segment = 'all'): Record<string, number> {
  return Object.fromEntries(
    samples
      .filter((sample) => sample.name === name && sample.labels['segment'] === segment)
      .map(({ labels, value }) => [labels['basis'] ?? '', value]),
  );
}

/** Returns the value of a gauge for which the pipeline has only one series. */
const of = (samples: readonly GaugeSample[], name: string) => samples.find((sample) => sample.name === name)?.value;

describe('the gauges of feedback', () => {
  it('export the positive ratio with its confidence interval and n for all, explicit and implicit feedback', async () => {
    const samples = await gaugesAt(60, [
      ...said(15),
      ...said(133, { sentiment: 'negative' }),
      ...said(9, { sentiment: 'neutral' }),
      ...said(12, { kind: 'click' }),
    ]);
    expect(valuesOf(samples, 'recalld_feedback_opinions')).toEqual({ all: 160, explicit: 148, implicit: 12 });
    expect(valuesOf(samples, 'recalld_feedback_positive_ratio')).toEqual({
      all: 27 / 160,
      explicit: 15 / 148,
      implicit: 1,
    });
    // The bounds are from Newcombe, Statistics in Medicine 17, 1998, table I, method 3.
    expect(valuesOf(samples, 'recalld_feedback_positive_ratio_ci_low')['explicit']).toBeCloseTo(0.0624, 4);
    expect(valuesOf(samples, 'recalld_feedback_positive_ratio_ci_high')['explicit']).toBeCloseTo(0.1605, 4);
  });

  it('export no ratio without opinions', async () => {
    const samples = await gaugesAt(60, said(3, { sentiment: 'neutral' }));
    expect(samples.map(({ name }) => name)).not.toContain('recalld_feedback_positive_ratio');
    expect(valuesOf(samples, 'recalld_feedback_opinions')).toEqual({ all: 0, explicit: 0, implicit: 0 });
  });

  it('cover the most frequent segments, and group the rest as one', async () => {
    const samples = await gaugesAt(60, [
      ...said(3, { queryId: 'en' }),
      ...said(1, { queryId: 'de' }),
      ...said(1, { queryId: 'fr' }),
    ]);
    expect(valuesOf(samples, 'recalld_feedback_opinions', 'lang=en')).toMatchObject({ all: 3 });
    expect(valuesOf(samples, 'recalld_feedback_opinions', 'other')).toMatchObject({ all: 2 });
    expect(samples.filter(({ labels }) => labels['segment'] === 'lang=de')).toEqual([]);
  });

  it('have a reason instead of a ratio below 10 opinions', async () => {
    const samples = await gaugesAt(60, said(9));
    expect(valuesOf(samples, 'recalld_feedback_positive_ratio')).toEqual({});
    expect(valuesOf(samples, 'recalld_feedback_opinions')).toMatchObject({ all: 9 });
    expect(samples).toContainEqual({
      name: 'recalld_live_measure_no_data',
      labels: expect.objectContaining({ measure: 'feedback_positive_ratio', reason: 'too_few_opinions' }),
      value: 1,
    });
  });

  it('use the live window of the config', async () => {
    const feedback = [
      ...said(20, { occurredAt: hours(-2) }),
      ...said(10, { sentiment: 'negative', occurredAt: hours(-0.5) }),
    ];
    const samples = await gaugesAt(60, feedback, undefined, { windowMs: HOUR });
    expect(valuesOf(samples, 'recalld_feedback_positive_ratio')).toMatchObject({ all: 0 });
    expect(valuesOf(samples, 'recalld_feedback_opinions')).toMatchObject({ all: 10 });
  });

  it('show a drop from 0.8 to 0.33 within the window, against the baseline before it', async () => {
    const usually = Array.from({ length: 100 }, (_, i) =>
      said(1, { sentiment: i % 5 === 0 ? 'negative' : 'positive', occurredAt: hours(-72 + i / 2) }),
    ).flat();
    const lately = Array.from({ length: 60 }, (_, i) =>
      said(1, { sentiment: i % 3 === 0 ? 'positive' : 'negative', occurredAt: hours(-3 + i / 21) }),
    ).flat();
    const drop = (samples: readonly GaugeSample[]) =>
      ['drop_evidence', 'latest_positive', 'baseline_positive'].map((part) =>
        of(samples, `recalld_feedback_${part}_ratio`),
      );
    const [evidence, latest, baseline] = drop(await gaugesAt(60, [...usually, ...lately]));
    expect(evidence).toBeGreaterThanOrEqual(1);
    expect(latest).toBeCloseTo(0.33, 1);
    expect(baseline).toBeCloseTo(0.8, 1);
    const [calm] = drop(await gaugesAt(60, usually));
    expect(calm).toBeLessThan(1);
  });

  it('show a drop of a service that is younger than its window', async () => {
    const young = Array.from({ length: 200 }, (_, i) =>
      said(1, { sentiment: i % 5 === 0 || i > 140 ? 'negative' : 'positive', occurredAt: hours(-6 + i / 34) }),
    ).flat();
    const samples = await gaugesAt(60, young);
    expect(of(samples, 'recalld_feedback_drop_evidence_ratio')).toBeGreaterThanOrEqual(1);
  });

  it('show no drop without a baseline', async () => {
    const samples = await gaugesAt(60, said(20, { sentiment: 'negative' }));
    expect(samples.map(({ name }) => name)).not.toContain('recalld_feedback_drop_evidence_ratio');
  });

  it('are withheld when they are older than three intervals', async () => {
    expect(await gaugesAt(900, said(1))).not.toEqual([]);
    expect(await gaugesAt(901, said(1))).toEqual([]);
  });

  it('omit pipelines that are no longer configured', async () => {
    expect(await gaugesAt(60, said(1), 'another')).toEqual([]);
  });
});
