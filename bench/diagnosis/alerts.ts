/**
 * Alerts that fire in a simulated world: alerts from the daemon's rules, and alerts from checks that only some configs
 * contain.
 */

import { type ComparedSide, sharedQueries } from '../../src/golden/rules/compare-golden-runs.ts';
import { compareMetric } from '../../src/golden/rules/compare-metric.ts';
import { scoresBy } from '../../src/golden/rules/score-run.ts';
import { storedComparison } from '../../src/golden/rules/verdict.ts';
import type { EffectKind } from '../../src/incidents/diagnosis/rules/effects.ts';
import type { Observations } from '../../src/incidents/diagnosis/rules/observations.ts';
import type { ObservedShare } from '../../src/incidents/diagnosis/rules/observed-live.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Shape } from './shape.ts';
import { changesOf } from './traffic.ts';

/** Returns the kinds of the firing alerts. Each common check is configured in only some worlds. */
export function alertsOf(
  { run, live, density }: Observations,
  { reference, now }: Record<'reference' | 'now', ComparedSide>,
  { k, slack }: Shape,
  isAlwaysLow: boolean,
  random: RandomNumbers,
): EffectKind[] {
  const isConfigured = (share: number): boolean => random.uniform() < share;
  const key = { measure: 'ndcg', k } as const;
  const loss = run?.reference?.loss ?? null;
  const shared = sharedQueries(reference.queries, now.queries);
  const [old, current] = [reference, now].map(({ answers }) => scoresBy(key, shared, answers, 1));
  const fell =
    shared.length > 0 && compareMetric(key, old ?? [], current ?? [], null, storedComparison).verdict === 'regression';
  const isBelow = isAlwaysLow || (loss !== null && loss.now < loss.before - slack);
  const labels = run?.labels ?? null;
  const latency = run?.latency95Ms ?? 0;
  const usual = run?.reference?.latency95Ms ?? latency;
  const alerts: readonly (readonly [EffectKind, boolean])[] = [
    ['score', isBelow && isConfigured(0.9)],
    ['score', fell && isConfigured(0.6)],
    ['labels', labels !== null && labels.stale > 0.05 * labels.probed && isConfigured(0.5)],
    ['latency', latency > 2 * usual + 50 && isConfigured(0.7)],
    ['live_errors', live.errors !== null && isMuch(live.errors) && isConfigured(0.6)],
    ['live_empty', live.empty !== null && isMuch(live.empty) && isConfigured(0.6)],
    ['density', density?.hasFallen === true],
    ...changesOf(live),
  ];
  return [...new Set(alerts.filter(([, isFiring]) => isFiring).map(([kind]) => kind))];
}

const MUCH = 0.05;

function isMuch({ value, ciLow }: ObservedShare): boolean {
  return value > MUCH && ciLow > MUCH / 2;
}

/** Returns a random alert that fires without a fault. Any check can fire; score checks fire most often. */
export function drawAlert({ run, live, density }: Observations, random: RandomNumbers): EffectKind {
  const possible: readonly EffectKind[] = [
    'score',
    'score',
    'score',
    'latency',
    ...(run?.labels == null ? [] : (['labels'] as const)),
    ...(live.errors === null ? [] : (['live_errors', 'live_empty'] as const)),
    ...(density === null ? [] : (['density'] as const)),
    'feedback',
  ];
  return possible[random.below(possible.length)] ?? 'score';
}
