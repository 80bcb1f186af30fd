import { expect, it } from 'vitest';
import { statesOf } from '../../../src/checks/check-store.ts';
import type { CheckStanding } from '../../../src/checks/rules/check-state.ts';
import { alarmsOf } from '../../../src/diagnosis/alarms.ts';
import type { Verdict } from '../../../src/model.ts';
import { aWatchedPipeline, NOON } from '../../support/builders.ts';

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
  const now = new Date(NOON.getTime() + minutes * 60_000);
  const trustedUntil = new Date(NOON.getTime() + 15 * 60_000);
  const standing = {
    pipeline: pipeline.name,
    name: NAME,
    verdict,
    since: NOON,
    trustedUntil,
  } as CheckStanding;
  const checks = statesOf({ pipelines: [pipeline], densityPlans: [] }, [standing], now);
  return alarmsOf(pipeline, { latest: [], checks, measurements: [], intervalSeconds: () => null }, now);
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
