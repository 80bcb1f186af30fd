import { expect, it } from 'vitest';
import { summarizeFiring } from '../../../../../src/incidents/diagnosis/rules/firing.ts';
import { aCheckState } from '../../../../support/check-states.ts';

it('identifies the failing measure regardless of the configured check name', () => {
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

it('treats changed results as a drop in scores even if no score dropped', () => {
  const checks = [aCheckState({ kind: 'threshold', measure: 'rbo', name: 'answers stay' })];
  expect(summarizeFiring('docs', checks, [])).toEqual({ effects: ['score'], key: null, floor: null });
});

it('ignores checks that pass, cannot be evaluated, or belong to other pipelines', () => {
  const checks = [
    aCheckState({ verdict: 'ok' }),
    aCheckState({ verdict: 'no_data' }),
    aCheckState({ pipeline: 'another', verdict: 'critical' }),
  ];
  expect(summarizeFiring('docs', checks, [])).toEqual({ effects: [], key: null, floor: null });
});

it('keeps the effect of an alert that still fires while its check has no data', () => {
  const errors = { kind: 'threshold', measure: 'error_ratio', verdict: 'no_data' } as const;
  const checks = [aCheckState({ ...errors, name: 'errors' }), aCheckState({ ...errors, name: 'never fired' })];
  expect(summarizeFiring('docs', checks, [], ['errors'])).toEqual({ effects: ['live_errors'], key: null, floor: null });
});
