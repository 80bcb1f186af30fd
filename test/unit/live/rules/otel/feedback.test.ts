import { describe, expect, it } from 'vitest';
import { extractLogFeedback } from '../../../../../src/live/rules/otel/feedback.ts';
import type { Attributes } from '../../../../../src/live/rules/otel/span.ts';
import { aLogRecord, aRetriever, aSpan, extract, options, queryId, spanId, startMs, traceId } from './telemetry.ts';

/** Flattens annotations as OpenInference does. */
function flat(prefix: string, form: string, fields: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [`${prefix}${form}s.0.${form}.${field}`, value]),
  );
}

const link = (id: number, trace = traceId) => ({ traceId: trace, spanId: spanId(id) });

const thumb = { name: 'user_feedback', label: 'thumbs_down', annotator_kind: 'HUMAN' };

describe('the reader of OpenInference annotations', () => {
  it.each([
    ['a thumb by its label', { name: 'thumbs', label: 'thumbs-up' }, 'thumb', 'up'],
    ['a thumb by a score', { name: 'helpful', score: 0 }, 'thumb', 'down'],
    ['a thumb by an emoji', { name: 'user_feedback', label: '👎🏽' }, 'thumb', 'down'],
    ['a score that is not a thumb', { name: 'user feedback', score: 4 }, 'rating', 4],
    ['stars', { name: 'star_rating', score: 3 }, 'rating', 3],
    ['a relevance score', { name: 'Relevance', score: 0.5 }, 'relevance', 0.5],
    ['a relevance label', { name: 'retrieval_relevance', label: 'not_relevant' }, 'relevance', 0],
    [
      'a verdict by a person, whatever its name',
      { name: 'qa', label: 'correct', annotator_kind: 'HUMAN' },
      'thumb',
      'up',
    ],
  ])('reads %s', (_, fields, kind, value) => {
    const { feedback } = extract([aRetriever(['a'], { attributes: flat('', 'annotation', fields) })]);
    expect(feedback).toMatchObject([{ queryId: queryId(1), pipeline: 'support', kind, value, isResolved: true }]);
  });

  it.each([
    ['was made by a model', { ...thumb, annotator_kind: 'LLM' }],
    ['was made by code', { name: 'x', score: 1, annotator_kind: 'CODE' }],
    ['has an unrelated name', { name: 'hallucination', score: 1 }],
    ['has a score whose meaning is unknown', { name: 'tone', score: 1, annotator_kind: 'HUMAN' }],
    ['has an unknown name and a label', { name: 'qa', label: 'correct' }],
    ['has a label whose meaning is unknown', { name: 'thumb', label: 'sideways' }],
  ])('ignores an annotation that %s', (_, fields) => {
    expect(extract([aRetriever(['a'], { attributes: flat('', 'evaluation', fields) })]).feedback).toEqual([]);
  });

  it('counts an annotation that is sent in both forms once', () => {
    const attributes = { ...flat('', 'annotation', thumb), ...flat('', 'evaluation', thumb) };
    expect(extract([aRetriever(['a'], { attributes })]).feedback).toHaveLength(1);
  });

  it('reads user, time, document and comment', () => {
    const fields = {
      ...thumb,
      explanation: 'not what I asked',
      identifier: 'form-1',
      metadata: '{"document_id":"a","document_position":2}',
    };
    const attributes = { ...flat('', 'annotation', fields), 'user.id': 'u' };
    const [feedback] = extract([aRetriever(['a'], { attributes })]).feedback;
    expect(feedback).toMatchObject({
      documentId: 'a',
      rank: 3,
      userId: 'u',
      comment: 'not what I asked',
      occurredAt: new Date(startMs + 250),
    });
    expect(feedback?.id).toBe(JSON.stringify(['span', queryId(1), 'user_feedback', 'form-1']));
  });

  it('reads the documents that an answer cites, from any annotator', () => {
    const cited = (document: string, place: number) => ({
      [`annotations.${place}.annotation.name`]: 'citation',
      [`annotations.${place}.annotation.annotator_kind`]: 'CODE',
      [`annotations.${place}.annotation.identifier`]: 'rag-service',
      [`annotations.${place}.annotation.metadata`]: JSON.stringify({ document_id: document }),
    });
    const attributes = { ...cited('b', 0), ...cited('c', 1) };
    const { feedback } = extract([
      aSpan({ id: 9, attributes }),
      aRetriever(['a', 'b'], { id: 1, parent: 9 }),
      aRetriever(['c', 'b'], { id: 2, parent: 9 }),
    ]);
    expect(feedback).toMatchObject([
      { queryId: queryId(1), kind: 'citation', documentId: 'b', id: null, isResolved: true },
      { queryId: queryId(2), kind: 'citation', documentId: 'c', id: null, isResolved: true },
    ]);
  });

  it('ignores a citation without a document', () => {
    const attributes = flat('', 'annotation', { name: 'citation', score: 1 });
    expect(extract([aRetriever(['a'], { attributes })]).feedback).toEqual([]);
  });

  it('ignores an impossible rank', () => {
    for (const position of [-1, 0.5, 10_000, 1e300]) {
      const metadata = JSON.stringify({ document_position: position });
      const attributes = flat('', 'annotation', { ...thumb, metadata });
      expect(extract([aRetriever(['a'], { attributes })]).feedback).toMatchObject([{ rank: null }]);
    }
  });

  it('gives an annotation with an identifier one id per target, even if its label changes', () => {
    const idOf = (label: string, id: number) => {
      const attributes = flat('', 'annotation', { ...thumb, label, identifier: 'form-1' });
      return extract([aRetriever(['a'], { id, attributes })]).feedback[0]?.id;
    };
    expect(idOf('up', 1)).toBe(idOf('down', 1));
    expect(idOf('up', 1)).not.toBe(idOf('up', 2));
    const attributes = flat('', 'annotation', thumb);
    expect(extract([aRetriever(['a'], { attributes })]).feedback).toMatchObject([{ id: null }]);
  });
});

describe('the target of feedback', () => {
  const inline = flat('', 'annotation', thumb);
  const carrier = { 'openinference.span.kind': 'EVALUATOR', ...flat('', 'evaluation', thumb) };

  it('is the only retrieval below the annotated span', () => {
    const { feedback } = extract([aSpan({ id: 9, attributes: inline }), aRetriever(['a'], { parent: 9 })]);
    expect(feedback).toMatchObject([{ queryId: queryId(1), isResolved: true }]);
  });

  it('is unresolved when the answer used several retrievals, or none in this export', () => {
    const several = extract([
      aSpan({ id: 9, attributes: inline }),
      aRetriever(['a'], { id: 1 }),
      aRetriever(['a'], { id: 2 }),
    ]);
    expect(several.feedback).toMatchObject([{ queryId: queryId(9), traceId, isResolved: false }]);
    const alone = extract([aSpan({ id: 9, attributes: inline })]);
    expect(alone.feedback).toMatchObject([{ queryId: queryId(9), traceId, isResolved: false }]);
  });

  it('is the only span that a feedback carrier links to, never the parent of the carrier', () => {
    const linked = aSpan({ id: 8, parent: 2, attributes: carrier, links: [link(1)] });
    const { feedback } = extract([linked, aRetriever(['a'], { id: 1 }), aRetriever(['b'], { id: 2 })]);
    expect(feedback).toMatchObject([{ queryId: queryId(1), isResolved: true }]);
  });

  it('is the linked span of another export, still unresolved', () => {
    const other = 'a'.repeat(32);
    const unknownKind = aSpan({ id: 8, attributes: inline, links: [link(3, other)] });
    expect(extract([unknownKind]).feedback).toMatchObject([
      { queryId: `${other}-${spanId(3)}`, traceId: other, isResolved: false, pipeline: 'support' },
    ]);
  });

  it('is the retriever that encloses the annotated span', () => {
    const inner = aRetriever(['a'], { id: 2, parent: 1, attributes: inline });
    const { feedback } = extract([aRetriever(['a']), inner, aRetriever(['b'], { id: 3 })]);
    expect(feedback).toMatchObject([{ queryId: queryId(1), isResolved: true }]);
  });

  it('is the linked span of another export rather than the only retrieval of this export', () => {
    const linked = aSpan({ id: 8, attributes: carrier, links: [link(77)] });
    expect(extract([linked, aRetriever(['a'])]).feedback).toMatchObject([{ queryId: queryId(77), isResolved: false }]);
  });

  it('is the only retrieval of the linked trace for a trace annotation', () => {
    const attributes = { 'openinference.span.kind': 'EVALUATOR', ...flat('trace.', 'annotation', thumb) };
    const linked = aSpan({ id: 8, traceId: 'b'.repeat(32), attributes, links: [link(77)] });
    expect(extract([linked, aRetriever(['a'])]).feedback).toMatchObject([{ queryId: queryId(1), isResolved: true }]);
  });

  it.each([
    ['a carrier without a link', aSpan({ attributes: carrier })],
    ['a carrier with two links', aSpan({ attributes: carrier, links: [link(1), link(2)] })],
    ['an annotation of a session', aSpan({ attributes: flat('session.', 'annotation', thumb) })],
  ])('is missing for %s', (_, span) => {
    expect(extract([span]).feedback).toEqual([]);
  });

  it('is found below the annotated span, not through its link, if the span has a known kind', () => {
    const attributes = { 'openinference.span.kind': 'CHAIN', ...inline };
    const consumer = aSpan({ id: 9, attributes, links: [link(5, 'c'.repeat(32))] });
    expect(extract([consumer, aRetriever(['a'], { parent: 9 })]).feedback).toMatchObject([{ queryId: queryId(1) }]);
  });
});

describe('evaluation events of OTel GenAI', () => {
  const event = {
    'gen_ai.evaluation.name': 'Relevance',
    'gen_ai.evaluation.score.value': 4,
    'gen_ai.evaluation.explanation': 'on topic',
  };

  it('are read from the span that they evaluate', () => {
    const { feedback } = extract([aRetriever(['a'], { events: [['gen_ai.evaluation.result', event]] })]);
    expect(feedback).toMatchObject([
      {
        queryId: queryId(1),
        kind: 'relevance',
        value: 4,
        comment: 'on topic',
        occurredAt: new Date(startMs),
      },
    ]);
  });

  it.each([
    ['a log record with an event name', aLogRecord({ attributes: event })],
    [
      'a log record that is named in the earlier form',
      aLogRecord({ eventName: '', attributes: { ...event, 'event.name': 'gen_ai.evaluation.result' } }),
    ],
  ])('are read from %s', (_, record) => {
    expect(extractLogFeedback([record, aLogRecord({ eventName: 'x' })], options)).toMatchObject([
      { queryId: queryId(1), traceId, isResolved: false, kind: 'relevance', value: 4, pipeline: 'support' },
    ]);
  });

  it('are ignored without a span or a pipeline', () => {
    const byResponse = aLogRecord({
      traceId: null,
      spanId: null,
      attributes: { ...event, 'gen_ai.response.id': 'chatcmpl-123' },
    });
    const elsewhere = aLogRecord({
      attributes: event,
      resource: { serviceName: 'billing', attributes: {} },
    });
    expect(extractLogFeedback([byResponse, elsewhere], options)).toEqual([]);
  });

  it('are ignored if they name a model as annotator', () => {
    const record = aLogRecord({ attributes: { ...event, 'annotation.annotator_kind': 'LLM' } });
    expect(extractLogFeedback([record], options)).toEqual([]);
  });
});
