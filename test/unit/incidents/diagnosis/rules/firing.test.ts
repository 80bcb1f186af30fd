import { expect, it } from 'vitest';
import { summarizeFiring } from '../../../../../src/incidents/diagnosis/rules/firing.ts';
import { aCheckState } from '../../../../support/check-states.ts';

it('tells what is bad by what checks watch, whatever the config calls them', () => {
  const checks = [
    aCheckState({ kind: 'floor', measure: 'recall@5', name: 'the floor', verdict: 'warning' }),
    aCheckState({ kind: 'regression', measure: 'ndcg@10', name: 'worse than last week' }),
    aCheckState({ kind: 'stale_labels', measure: 'stale_labels', name: 'labels' }),
    aCheckState({ kind: 'density_drift', measure: 'density_drift', name: 'what people ask' }),
    aCheckState({ kind: 'threshold', measure: 'error_ratio', name: 'errors' }),
  ];
  const { effects, key } = summarizeFiring('docs', checks, []);
  expect(effects).toEqual(['score', 'labels', 'density', 'live_errors']);
  expect(key).toMatchObject({ measure: 'ndcg', k: 10 });
});

it('takes answers that changed for a fall of scores, without a score that fell', () => {
  const checks = [aCheckState({ kind: 'threshold', measure: 'rbo', name: 'answers stay' })];
  expect(summarizeFiring('docs', checks, [])).toEqual({ effects: ['score'], key: null, floor: null });
});

it('takes nothing from checks that are well, cannot be judged, or are of another pipeline', () => {
  const checks = [
    aCheckState({ verdict: 'ok' }),
    aCheckState({ verdict: 'no_data' }),
    aCheckState({ pipeline: 'another', verdict: 'critical' }),
  ];
  expect(summarizeFiring('docs', checks, [])).toEqual({ effects: [], key: null, floor: null });
});
