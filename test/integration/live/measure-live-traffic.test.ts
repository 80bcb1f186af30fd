/** Known traffic is sampled and stored in PostgreSQL; the measures must recover the true values of this traffic. */

import { beforeAll, describe, expect, it } from 'vitest';
import type { QueryOutcome } from '../../../src/core/model.ts';
import { measureLiveTraffic } from '../../../src/live/measure-live-traffic.ts';
import { type LiveMeasure, liveMeasures } from '../../../src/live/rules/live-measures.ts';
import { decide, type SamplingPolicy } from '../../../src/live/rules/sampling/decision.ts';
import { type StoredFeedback } from '../../../src/live/sql/feedback-rows.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { createLiveWindows } from '../../../src/live/sql/live-windows.ts';
import { type LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import type { Measurement } from '../../../src/measures/rules/measurement.ts';
import { documents, NOON } from '../../support/builders.ts';
import { contextOf as testContext } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { aLiveSample, aStoredClick } from '../../support/live-rows.ts';
import { silentLogger } from '../../support/log.ts';
import { hours } from '../../support/measurements.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';
import { uniforms } from '../../support/uniforms.ts';

/** Number of random replications. The test counts how often the intervals contain the true values. */
const WORLDS = 20;
const SESSIONS = 150;
const BASELINE_SESSIONS = 400;
/** Probability of a click at ranks 1 to 3. */
const CHANCES = [0.5, 0.3, 0.15];

const policy: SamplingPolicy = {
  rate: 0.4,
  segments: {},
  always_keep: ['zero_results', 'error'],
  low_similarity_below: null,
  budget: Number.POSITIVE_INFINITY,
};

interface World {
  readonly samples: LiveSample[];
  readonly clicks: StoredFeedback[];
  /** True values over all queries in the window, by measure. */
  readonly truth: Readonly<Record<LiveMeasure, number>>;
}

/** Creates sessions of 1 to 4 queries; the sessions differ in their rates of failures, zero results and clicks. */
function makeWorld(pipeline: string, seed: number): World {
  const uniform = uniforms(seed);
  const samples: LiveSample[] = [];
  const clicks: StoredFeedback[] = [];
  const delays = uniforms(seed + 1);
  const latencies: number[] = [];
  const counts = {
    queries: 0,
    empty: 0,
    failed: 0,
    shown: 0,
    clicks: 0,
    clicked: 0,
    reciprocal: 0,
    sized: 0,
    characters: 0,
    repeated: 0,
  };
  const session = (id: string, hoursBefore: number, isCounted: boolean): void => {
    const isUnlucky = uniform() < 0.2;
    const mood = uniform() < 0.5 ? 1.5 : 0.5;
    const occurredAt = hours(-hoursBefore);
    const size = 1 + Math.floor(uniform() * 4);
    for (let i = 0; i < size; i++) {
      const queryId = `${id}-${i}`;
      const outcome = drawOutcome(uniform, isUnlucky);
      const shown = outcome === 'ok' ? ['d1', 'd2', 'd3'] : [];
      const latencyMs = 1000 * delays();
      const clicked = shown.filter((_, rank) => uniform() < mood * (CHANCES[rank] ?? 0));
      const traits = { pipeline, id: queryId, sessionId: id, episode: null, traceId: null, segments: {}, outcome };
      const decision = decide(
        { ...traits, similarity: null, hasNegativeFeedback: false, upstreamProbability: 1 },
        policy,
        0,
      );
      if (decision.isSampled) {
        samples.push(
          aLiveSample({
            pipeline,
            id: queryId,
            occurredAt,
            outcome,
            latencyMs,
            results: documents(...shown),
            context: contextOf(shown),
            probability: decision.probability,
            keepReason: decision.reason,
            unitHash: decision.hash,
            rateProbability: decision.rateProbability,
          }),
        );
      }
      for (const documentId of clicked) {
        clicks.push(aStoredClick({ pipeline, id: `${queryId}-${documentId}`, queryId, documentId, occurredAt }));
      }
      if (!isCounted) continue;
      counts.queries++;
      latencies.push(latencyMs);
      if (outcome === 'empty') counts.empty++;
      const context = contextOf(shown);
      if (context !== null) {
        counts.sized++;
        counts.characters += context.characters;
        counts.repeated += context.repeated;
      }
      if (outcome === 'error' || outcome === 'timeout') counts.failed++;
      counts.shown += shown.length;
      counts.clicks += clicked.length;
      const best = clicked[0];
      if (best === undefined) continue;
      counts.clicked++;
      counts.reciprocal += 1 / Number(best.slice(1));
    }
  };
  for (let i = 0; i < SESSIONS; i++) session(`s${i}`, 1 + uniform() * 22, true);
  for (let i = 0; i < BASELINE_SESSIONS; i++) session(`b${i}`, 25 + uniform() * 140, false);
  const { queries, empty, failed, shown } = counts;
  return {
    samples,
    clicks,
    truth: {
      queries,
      zero_results_ratio: empty / queries,
      error_ratio: failed / queries,
      latency_p95_seconds: (latencies.toSorted((a, b) => a - b)[Math.ceil(0.95 * queries) - 1] ?? 0) / 1000,
      results_per_answer: 3,
      context_characters: counts.characters / counts.sized,
      context_repeated_ratio: counts.repeated / counts.sized,
      click_through_ratio: counts.clicks / shown,
      clicked_query_ratio: counts.clicked / queries,
      clicked_reciprocal_rank: counts.reciprocal / counts.clicked,
      clicks_over_expected_ratio: 1,
    },
  };
}

/**
 * Length of a query's context and the share of it that is repeated, both derived from the number of the best document.
 */
function contextOf(shown: readonly string[]) {
  const best = Number(shown[0]?.slice(1) ?? Number.NaN);
  return Number.isNaN(best) ? null : { characters: 500 + 100 * best, repeated: (best % 4) / 4 };
}

function drawOutcome(uniform: () => number, isUnlucky: boolean): QueryOutcome {
  const draw = uniform();
  if (draw < (isUnlucky ? 0.4 : 0.05)) return 'empty';
  if (draw < (isUnlucky ? 0.6 : 0.07)) return 'error';
  return draw < (isUnlucky ? 0.65 : 0.08) ? 'timeout' : 'ok';
}

describe.each([
  ['read completely', 50_000],
  ['partly sampled because it is too large', 200],
])('simulated traffic that is %s', (_what, mostSamples) => {
  const database = useDatabase();
  const worlds = new Map<string, World>();

  beforeAll(async () => {
    const traffic = createLiveTraffic(database.pool, 'me');
    await traffic.createPartitions(NOON);
    for (let i = 0; i < WORLDS; i++) {
      const world = makeWorld(`world-${i}`, 1000 + i);
      worlds.set(`world-${i}`, world);
      await traffic.record({ samples: world.samples, counts: [], levels: [] });
      await traffic.recordFeedback(world.clicks);
    }
    const clock = new SteerableClock();
    const plans = [...worlds.keys()].map((pipeline) => ({
      pipeline,
      windowMs: 24 * 3_600_000,
      baselineMs: 7 * 24 * 3_600_000,
      segmentKeys: [],
      maxSegments: 10,
      idleMs: 600_000,
      expectsEpisodes: false,
      samplesAll: false,
    }));
    const windows = createLiveWindows(database.pool);
    const measurements = createMeasurements(database.pool);
    const deps = testContext({
      db: { live: { windows }, measurements },
      clock,
      logger: silentLogger,
      livePlans: plans,
      maxSamples: mostSamples,
    });
    let isOver = false;
    const work = measureLiveTraffic(deps, new AbortController().signal).finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.advance(1);
    await work;
  });

  async function valuesOf(measure: string): Promise<Map<string, Measurement>> {
    const latest = await createMeasurements(database.pool).latest(NOON);
    return new Map(
      latest.flatMap((one) =>
        one.measure === measure && one.newest !== null ? [[one.pipeline, one.newest] as const] : [],
      ),
    );
  }

  it.each(liveMeasures)('has estimates whose confidence intervals cover the true %s', async (measure) => {
    const values = await valuesOf(measure);
    expect(values.size).toBe(measure === 'clicks_over_expected_ratio' && mostSamples === 200 ? 0 : WORLDS);
    const held = [...values].filter(([pipeline, { ciLow, ciHigh }]) => {
      const truth = worlds.get(pipeline)?.truth[measure] ?? Number.NaN;
      return ciLow !== null && ciHigh !== null && ciLow <= truth && truth <= ciHigh;
    });
    // Of twenty 95 % intervals, more than three rarely miss the true value; the seed is fixed, so the result is
    // deterministic.
    expect(held.length).toBeGreaterThanOrEqual(values.size - 3);
  });

  it('would have a biased zero-results ratio if samples were not weighted', async () => {
    for (const [pipeline, { samples, truth }] of worlds) {
      const unweighted = samples.filter(
        ({ outcome, occurredAt }) => outcome === 'empty' && occurredAt > hours(-24),
      ).length;
      const all = samples.filter(({ occurredAt }) => occurredAt > hours(-24)).length;
      expect({ pipeline, isTooMany: unweighted / all > truth.zero_results_ratio }).toEqual({
        pipeline,
        isTooMany: true,
      });
    }
  });
});
