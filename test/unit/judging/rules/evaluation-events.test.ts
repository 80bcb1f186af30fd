import { expect, it } from 'vitest';
import { type EvaluatedQuery, evaluationsOf } from '../../../../src/judging/rules/evaluation-events.ts';
import { liveQueryId } from '../../../../src/live/rules/otel/span.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

const aQuery = (changes: Partial<EvaluatedQuery> = {}): EvaluatedQuery => ({
  id: liveQueryId(traceId, spanId),
  traceId,
  outcome: 'ok',
  judge: 'model-a',
  at: new Date(0),
  documents: [{ model: 3 }, { model: 0 }],
  ...changes,
});

const scoresOf = (query: EvaluatedQuery) =>
  Object.fromEntries(
    evaluationsOf(query, 'docs', 5).map(({ attributes }) => [
      attributes['gen_ai.evaluation.name'],
      attributes['gen_ai.evaluation.score.value'],
    ]),
  );

it('creates one event per score on the span of the query, with the grades and the judge', () => {
  const events = evaluationsOf(aQuery(), 'docs', 5);
  expect(scoresOf(aQuery())).toMatchObject({ 'mrr@5': 1, 'hit_rate@5': 1, 'precision@5': 0.2 });
  for (const { name, traceId: trace, spanId: span, attributes } of events) {
    expect([name, trace, span]).toEqual(['gen_ai.evaluation.result', traceId, spanId]);
    expect(attributes).toMatchObject({
      'gen_ai.evaluation.explanation': 'Grades of the top documents, 0 to 3, in rank order: 3, 0.',
      'annotation.annotator_kind': 'LLM',
      'recalld.judge': 'model-a',
    });
  }
  const labels = events.flatMap(({ attributes }) => attributes['gen_ai.evaluation.score.label'] ?? []);
  expect(labels).toEqual(['relevant']);
});

it('scores a failed query 0, without a judge', () => {
  const failed = aQuery({ outcome: 'error', judge: null, documents: [] });
  for (const value of Object.values(scoresOf(failed))) expect(value).toBe(0);
  for (const { attributes } of evaluationsOf(failed, 'docs', 5)) {
    expect(attributes).toMatchObject({
      'annotation.annotator_kind': 'CODE',
      'gen_ai.evaluation.explanation': 'The retriever failed.',
    });
    expect(attributes).not.toHaveProperty('recalld.judge');
  }
});

it('attaches events to the trace when the query id is not a span id', () => {
  for (const { spanId: span } of evaluationsOf(aQuery({ id: 'q-1' }), 'docs', 5)) expect(span).toBeNull();
});
