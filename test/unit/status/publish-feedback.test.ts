/** From what people said in a window to the gauges of feedback. */
import { describe, expect, it } from 'vitest';
import { measureFeedback } from '../../../src/live/measure-live-traffic.ts';
import { feedbackGauges } from '../../../src/live/publish-live.ts';
import type { OpinionTally } from '../../../src/live/rules/feedback/sentiment.ts';
import type { GaugeSample } from '../../../src/metrics/meter.ts';
import { NOON } from '../../support/builders.ts';
import { aMeasurement } from '../../support/measurements.ts';
import { MemoryMeasurements } from '../../support/memory-measurements.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';
import { rowsOf } from '../../support/stored-gauges.ts';

const settings = { pipelines: ['docs'], intervalSeconds: 300 };

/** So many thumbs up. */
const said = (opinions: number, parts: Partial<OpinionTally> = {}): OpinionTally => ({
  kind: 'thumb',
  sentiment: 'positive',
  segments: [],
  feedback: opinions,
  opinions,
  ...parts,
});

/** The gauges so many seconds after noon, when this was measured. */
async function gaugesAt(seconds: number, tallies: readonly OpinionTally[], pipeline = 'docs') {
  const measurements = new MemoryMeasurements();
  const feedbackSources = [{ pipeline, segmentKeys: ['lang'], maxSegments: 1 }];
  const traffic = { opinions: async () => tallies };
  const clock = new SteerableClock(NOON);
  await measureFeedback({ traffic, measurements, clock, feedbackSources }, new AbortController().signal);
  const gauges = feedbackGauges(settings, await rowsOf(measurements, NOON));
  return gauges(new Date(NOON.getTime() + seconds * 1000));
}

function valuesOf(samples: readonly GaugeSample[], name: string, segment = 'all'): Record<string, number> {
  return Object.fromEntries(
    samples
      .filter((sample) => sample.name === name && sample.labels['segment'] === segment)
      .map(({ labels, value }) => [labels['basis'] ?? '', value]),
  );
}

describe('the gauges of feedback', () => {
  it('are the positive ratio with its bounds and n, for all of it and for explicit and implicit feedback', async () => {
    const samples = await gaugesAt(60, [
      said(15),
      said(133, { sentiment: 'negative' }),
      said(9, { sentiment: 'neutral' }),
      said(2, { kind: 'click' }),
    ]);
    expect(valuesOf(samples, 'recalld_feedback_opinions')).toEqual({ all: 150, explicit: 148, implicit: 2 });
    expect(valuesOf(samples, 'recalld_feedback_positive_ratio')).toEqual({
      all: 17 / 150,
      explicit: 15 / 148,
      implicit: 1,
    });
    // Newcombe, Statistics in Medicine 17, 1998, table I, method 3.
    expect(valuesOf(samples, 'recalld_feedback_positive_ratio_ci_low')['explicit']).toBeCloseTo(0.0624, 4);
    expect(valuesOf(samples, 'recalld_feedback_positive_ratio_ci_high')['explicit']).toBeCloseTo(0.1605, 4);
  });

  it('have no ratio without an opinion, and say that there was none', async () => {
    const samples = await gaugesAt(60, [said(3, { sentiment: 'neutral' })]);
    expect(samples.map(({ name }) => name)).not.toContain('recalld_feedback_positive_ratio');
    expect(valuesOf(samples, 'recalld_feedback_opinions')).toEqual({ all: 0, explicit: 0, implicit: 0 });
  });

  it('are told for the most frequent segments, and for the rest as one', async () => {
    const samples = await gaugesAt(60, [
      said(3, { segments: ['lang=en'] }),
      said(1, { segments: ['lang=de'] }),
      said(1, { segments: ['lang=fr'] }),
    ]);
    expect(valuesOf(samples, 'recalld_feedback_opinions', 'lang=en')).toMatchObject({ all: 3 });
    expect(valuesOf(samples, 'recalld_feedback_opinions', 'other')).toMatchObject({ all: 2 });
    expect(samples.filter(({ labels }) => labels['segment'] === 'lang=de')).toEqual([]);
  });

  it('are withheld when they are older than three intervals', async () => {
    expect(await gaugesAt(900, [said(1)])).not.toEqual([]);
    expect(await gaugesAt(901, [said(1)])).toEqual([]);
  });

  it('leave out pipelines that the config no longer has, and what does not tell the two apart', async () => {
    expect(await gaugesAt(60, [said(1)], 'gone')).toEqual([]);
    const measurements = new MemoryMeasurements();
    await measurements.record([aMeasurement({ measure: 'feedback_positive_ratio' })]);
    expect(feedbackGauges(settings, await rowsOf(measurements, NOON))(NOON)).toEqual([]);
  });
});
