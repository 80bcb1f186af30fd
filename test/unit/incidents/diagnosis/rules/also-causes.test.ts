import { expect, it } from 'vitest';
import { alsoCauses } from '../../../../../src/incidents/diagnosis/rules/also-causes.ts';
import type { Effect } from '../../../../../src/incidents/diagnosis/rules/effects.ts';
import { rankCauses } from '../../../../../src/incidents/diagnosis/rules/rank-causes.ts';
import type { Sign } from '../../../../../src/incidents/diagnosis/rules/signs.ts';

const states = {
  failures: 'some',
  failure_kind: 'timeouts',
  labels: 'alive',
  golden_set: 'same',
  latency: 'rose',
  warming: 'stays',
  empty_answers: 'as_before',
  score: 'fell',
  answer_length: 'as_before',
  results: 'disturbed',
  surviving_documents: 'stay',
  order: 'as_before',
  documents: 'vanished',
  common_document: 'as_before',
  again: 'repeats',
  live_errors: 'some',
  store_size: 'steady',
  ann_recall: 'steady',
  canary: 'same',
  index_documents: 'whole',
  deployment: 'none',
};

const signs = Object.entries(states).map(
  ([name, state]): Sign => ({ name, state, sentence: '', from: null, n: null }) as Sign,
);

function alsoWith(answers: number) {
  const effects: readonly Effect[] = [
    { kind: 'score', size: 0.5 + answers, parts: { timed_out: 0.5, answers } },
    { kind: 'failures', size: 61, parts: { failed: 0, timed_out: 61 } },
    { kind: 'latency', size: 1, parts: null },
  ];
  const failedShare = 0.5;
  return alsoCauses({ ...rankCauses(signs, effects, failedShare), effects, failedShare }, signs);
}

it('names a second cause for a drop among successful queries, however much of the drop is due to timeouts', () => {
  const causes = alsoWith(0.11).map(({ cause }) => cause);
  expect(causes).toContain('filter');
});

it('names no second cause if the drop among successful queries alone would not page', () => {
  expect(alsoWith(0.01).map(({ cause }) => cause)).not.toContain('filter');
});
