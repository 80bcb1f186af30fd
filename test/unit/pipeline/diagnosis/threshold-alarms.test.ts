import { expect, it } from 'vitest';
import type { Verdict } from '../../../../src/core/model.ts';
import { alarmsOf } from '../../../../src/pipeline/diagnosis/alarms.ts';
import type { StoredStanding } from '../../../../src/ports/check-history.ts';
import { aWatchedPipeline, NOON } from '../../../support/builders.ts';

const NAME = 'retriever_latency_p95_seconds above 0.3';
const pipeline = aWatchedPipeline({
  thresholds: [
    {
      measure: 'retriever_latency_p95_seconds',
      threshold: 0.3,
      severity: 'critical',
      segments: 'all',
      leastN: 20,
      confirm: 1,
      noData: 'silent',
    },
  ],
});

function alarmsAt(verdict: Verdict, minutes: number) {
  const standing = { pipeline: pipeline.name, name: NAME, verdict, evaluatedAt: NOON } as StoredStanding;
  const facts = {
    latest: [],
    standings: [standing],
    measurements: [],
    plan: null,
    density: null,
    intervalSeconds: () => null,
  };
  return alarmsOf(pipeline, facts, new Date(NOON.getTime() + minutes * 60_000));
}

it('takes a threshold that is breached as in alarm, as bad as it stands', () => {
  expect(alarmsAt('critical', 1)).toEqual([{ name: NAME, severity: 'critical', goldenSet: null }]);
  expect(alarmsAt('warning', 1)).toEqual([{ name: NAME, severity: 'warning', goldenSet: null }]);
});

it('takes one that is well, or was judged too long ago, as none', () => {
  expect(alarmsAt('ok', 1)).toEqual([]);
  expect(alarmsAt('no_data', 1)).toEqual([]);
  expect(alarmsAt('critical', 60)).toEqual([]);
});
