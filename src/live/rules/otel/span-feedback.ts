/** The feedback in the spans of one export: inline, as events, and on spans that link to what they judge. */
import type { LiveQuery } from '../live-query.ts';
import { type Annotation, EVALUATION_EVENT, readAnnotations, readEvaluationEvent } from './annotation.ts';
import type { ExtractionOptions } from './extraction-options.ts';
import { annotationFeedbackId, readJudgedDocument, readOpinion, type TracedFeedback } from './feedback.ts';
import { readPerson } from './person.ts';
import { liveQueryId, type OtlpSpan, type SpanLink, toDate } from './span.ts';
import type { TraceIndex } from './trace-index.ts';

export interface SpanFeedback {
  readonly feedback: readonly TracedFeedback[];
  /** The spans that carried it. */
  readonly annotatedSpans: readonly OtlpSpan[];
  readonly machineJudgments: number;
  readonly unusableAnnotations: number;
}

/**
 * Reads the annotations of spans, and their events `gen_ai.evaluation.result`, as feedback.
 *
 * An annotation is about the span that carries it. Only a carrier, made after the judged span had ended, is about
 * another one: an evaluator span, or one that no convention knows, is about the span that its only link leads to,
 * never about its parent. Judgments of whole sessions, and carriers without exactly one link, are about no query.
 *
 * The live query is the judged span, or the retriever around it, or the only query of its trace in this export: the
 * span of an answer is what users judge, and the retriever below it is what we watch.
 */
export function readSpanFeedback(
  index: TraceIndex,
  queries: readonly LiveQuery[],
  options: ExtractionOptions,
): SpanFeedback {
  const findQuery = queryFinder(index, queries);
  const feedback: TracedFeedback[] = [];
  const annotatedSpans = new Set<OtlpSpan>();
  let machineJudgments = 0;
  let unusableAnnotations = 0;

  for (const span of index.spans) {
    for (const { annotation, timeUnixNano } of annotationsOf(span)) {
      const reading = readOpinion(annotation);
      const target = targetOf(span, index);
      const query = target === null ? null : findQuery(target, annotation.scope);
      const pipeline = query?.pipeline ?? options.pipelineOf(span);
      if (reading.kind === 'machine') machineJudgments += 1;
      else if (
        reading.kind === 'unknown' ||
        annotation.scope === 'session' ||
        target === null ||
        pipeline === null
      )
        unusableAnnotations += 1;
      else {
        const queryId = query?.id ?? liveQueryId(target.traceId, target.spanId);
        const around = [span, ...index.ancestorsOf(span)].map(({ attributes }) => attributes);
        annotatedSpans.add(span);
        feedback.push({
          id: annotationFeedbackId(annotation, queryId),
          queryId,
          pipeline,
          ...reading.opinion,
          ...readJudgedDocument(annotation.metadata),
          occurredAt: toDate(timeUnixNano),
          userId: readPerson(around).userId ?? query?.userId ?? null,
          comment: annotation.explanation,
          traceId: target.traceId,
          isResolved: query !== null,
        });
      }
    }
  }
  return { feedback, annotatedSpans: [...annotatedSpans], machineJudgments, unusableAnnotations };
}

interface TimedAnnotation {
  readonly annotation: Annotation;
  readonly timeUnixNano: bigint;
}

function annotationsOf(span: OtlpSpan): readonly TimedAnnotation[] {
  const inline = readAnnotations(span.attributes);
  const events = span.events.flatMap(({ name, attributes, timeUnixNano }) => {
    const annotation = name === EVALUATION_EVENT ? readEvaluationEvent(attributes) : null;
    return annotation === null ? [] : [{ annotation, timeUnixNano }];
  });
  return [...inline.map((annotation) => ({ annotation, timeUnixNano: span.endTimeUnixNano })), ...events];
}

function targetOf(span: OtlpSpan, index: TraceIndex): SpanLink | null {
  const role = index.roleOf(span);
  const isCarrier = role === 'evaluator' || (role === 'none' && span.links.length === 1);
  if (!isCarrier) return span;
  const [link, ...others] = span.links;
  return link !== undefined && others.length === 0 ? link : null;
}

/** Finds the live query of this export that a span, or its trace, is about. */
function queryFinder(index: TraceIndex, queries: readonly LiveQuery[]) {
  const byId = new Map(queries.map((query) => [query.id, query]));
  /** Null: the trace has several. */
  const onlyOfTrace = new Map<string | null, LiveQuery | null>();
  for (const query of queries) onlyOfTrace.set(query.traceId, onlyOfTrace.has(query.traceId) ? null : query);

  return (target: SpanLink, scope: Annotation['scope']): LiveQuery | null => {
    const span = index.find(target.traceId, target.spanId);
    const around = span === null ? null : index.retrieverAround(span);
    const query = byId.get(liveQueryId(target.traceId, around?.spanId ?? target.spanId));
    if (query !== undefined) return query;
    // A span of another export may be another retriever, so only a whole trace is taken at its word.
    return span !== null || scope === 'trace' ? (onlyOfTrace.get(target.traceId) ?? null) : null;
  };
}
