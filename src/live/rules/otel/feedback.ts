/** Extracts user feedback from the annotations and evaluations of spans and log records. */
import type { Feedback, FeedbackKind, LiveQuery } from '../live-query.ts';
import { readPerson } from './request-tags.ts';
import type { ExtractionOptions } from './retrieved-documents.ts';
import {
  type Attributes,
  liveQueryId,
  type OtlpLogRecord,
  type OtlpSpan,
  readFirst,
  readFlattened,
  readId,
  readNumber,
  readObject,
  readShortText,
  readString,
  readText,
  type SpanLink,
  toDate,
} from './span.ts';
import type { TraceIndex } from './trace-index.ts';

/** Name of the evaluation event of OTel GenAI. */
const EVALUATION_EVENT = 'gen_ai.evaluation.result';

/**
 * Reads OpenInference's `annotations.N.annotation.*` and `evaluations.N.evaluation.*`, with an optional prefix `trace.`
 * (but not `session.`). An annotation that both lists contain counts once.
 */
function readAnnotations(attributes: Attributes): readonly Annotation[] {
  const found = new Map<string, Annotation>();
  for (const [scope, prefix] of scopes) {
    for (const form of ['annotation', 'evaluation']) {
      for (const fields of readFlattened(attributes, `${prefix}${form}s`) ?? []) {
        const annotation = readAnnotation(fields, scope, form, `${form}.score`, `${form}.label`);
        if (annotation !== null) found.set(JSON.stringify(annotation), annotation);
      }
    }
  }
  return [...found.values()];
}

/**
 * Reads the evaluation in an event or log record; null if the event has another name, or if the evaluation has no name.
 */
function readEvaluationEvent(eventName: string | null, attributes: Attributes): Annotation | null {
  if (eventName !== EVALUATION_EVENT) return null;
  const form = 'gen_ai.evaluation';
  return readAnnotation(attributes, 'span', form, `${form}.score.value`, `${form}.score.label`);
}

const scopes = [
  ['span', ''],
  ['trace', 'trace.'],
] as const;

export type Annotation = NonNullable<ReturnType<typeof readAnnotation>>;

/** @param scope what the annotation rates: the span, or its whole trace */
function readAnnotation(
  fields: Attributes,
  scope: (typeof scopes)[number][0],
  form: string,
  scoreName: string,
  labelName: string,
) {
  const name = readShortText(fields[`${form}.name`]);
  if (name === null) return null;
  // The event has no fields for the annotator and the identifier. According to the OpenInference specification,
  // gateways put them into additional attributes.
  const either = (field: string) => [`${form}.${field}`, `annotation.${field}`];
  return {
    scope,
    name,
    score: readNumber(fields[scoreName]),
    label: readShortText(fields[labelName]),
    explanation: readText(fields[`${form}.explanation`]),
    /** HUMAN, LLM, CODE or another value set by the service; null if unknown. */
    annotatorKind: readFirst(fields, either('annotator_kind'), readString),
    /**
     * Distinguishes annotations that have the same name and the same target; null if the service sets no identifier.
     */
    identifier: readFirst(fields, either('identifier'), readString),
    metadata: readFirst(fields, either('metadata'), readObject),
  };
}

/** Feedback whose live query may still be unknown. `annotationFeedbackId` creates its `id`. */
export interface TracedFeedback extends Feedback {
  readonly traceId: string;
  /**
   * True if `queryId` is a live query of the same export. If false, the annotated span may belong to another export or
   * may not be a retriever span. The feedback then applies to the live query with this `traceId`, if there is exactly
   * one.
   */
  readonly isResolved: boolean;
}

type Opinion = Pick<Feedback, 'kind' | 'value'>;

const thumbNames = /thumb|feedback|helpful|vote|(?:^|[^a-z])likes?(?:$|[^a-z])|satisf/i;
const ratingNames = /rating|rated|stars?\b|csat/i;
const relevanceNames = /relevan/i;

const goodLabels =
  /^(thumbs?[\s_-]?up|up|good|positive|like|liked|helpful|correct|yes|true|pass|passed|accepted|satisfied|👍.*)$/iu;
const badLabels =
  /^(thumbs?[\s_-]?down|down|bad|negative|dislike|disliked|unhelpful|not[\s_-]helpful|incorrect|wrong|no|false|fail|failed|rejected|unsatisfied|dissatisfied|👎.*)$/iu;
const relevantLabels = /^(relevant|highly[\s_-]relevant)$/i;
const irrelevantLabels = /^(irrelevant|not[\s_-]relevant|unrelated)$/i;

/**
 * Interprets an annotation as feedback; null if a machine made it, or if it is not a known kind of feedback.
 *
 * Annotations with an `annotator_kind` other than HUMAN are not user feedback. If the kind is missing, as in every
 * `gen_ai.evaluation.result`, the name decides:
 *
 * | name contains | kind | value |
 * |---|---|---|
 * | `relevan` | relevance | the score; otherwise 1 or 0 for the labels relevant and not_relevant |
 * | `rating`, `stars`, `csat` | rating | the score |
 * | `thumb`, `feedback`, `helpful`, `vote`, `like`, `satisf` | thumb | up or down, depending on the label; without such a label, up for a score of 1 and down for 0 or -1; any other score is a rating |
 * | anything else, if HUMAN | thumb | up or down, depending on the label |
 *
 * An annotation named `citation` that identifies a document means, regardless of the annotator kind, that the answer
 * cites the document.
 *
 * If the name is unknown, it is unclear whether a high score is good: a `hallucination` score of 1 is bad.
 */
function readOpinion(annotation: Annotation): Opinion | null {
  const { name, score, label, annotatorKind } = annotation;
  if (isCitation(annotation)) return opinion('citation', true);
  if (annotatorKind !== null && annotatorKind.toUpperCase() !== 'HUMAN') return null;
  const thumb = goodLabels.test(label ?? '') ? 'up' : badLabels.test(label ?? '') ? 'down' : null;
  if (relevanceNames.test(name)) return opinion('relevance', score ?? relevanceOf(label));
  if (ratingNames.test(name)) return opinion('rating', score);
  if (thumbNames.test(name)) {
    if (thumb !== null || score === null) return opinion('thumb', thumb);
    return [1, 0, -1].includes(score) ? opinion('thumb', score === 1 ? 'up' : 'down') : opinion('rating', score);
  }
  return annotatorKind === null ? null : opinion('thumb', thumb);
}

function isCitation({ name, metadata }: Annotation): boolean {
  return /^citation$/i.test(name) && readAnnotatedDocument(metadata).documentId !== null;
}

function opinion(kind: FeedbackKind, value: Feedback['value']): Opinion | null {
  return value === null ? null : { kind, value };
}

function relevanceOf(label: string | null): number | null {
  if (relevantLabels.test(label ?? '')) return 1;
  return irrelevantLabels.test(label ?? '') ? 0 : null;
}

const MAX_RANK = 10_000;

/** Returns the annotated document, from the `metadata` of Phoenix document annotations. */
function readAnnotatedDocument(metadata: Attributes | null) {
  const rank = (readNumber(metadata?.['document_position']) ?? -1) + 1;
  return {
    documentId: readFirst(metadata ?? {}, ['document_id', 'document.id'], readId),
    rank: Number.isInteger(rank) && rank >= 1 && rank <= MAX_RANK ? rank : null,
  };
}

/**
 * Returns the idempotency key of an annotation with an identifier: a later annotation with the same target, name and
 * identifier replaces the earlier annotation. Returns null for an annotation without an identifier; its key is then
 * derived from the content. Identifiers are often user names, so only a keyed hash of the key is stored. Also returns
 * null for a citation, so that the citations of several documents do not replace each other.
 */
function annotationFeedbackId(annotation: Annotation, queryId: string): string | null {
  const { scope, name, identifier } = annotation;
  return identifier === null || isCitation(annotation) ? null : JSON.stringify([scope, queryId, name, identifier]);
}

/** Returns one item, or none if the annotation is not feedback. */
function feedbackOn(
  queryId: string,
  annotation: Annotation,
  rest: Pick<TracedFeedback, 'pipeline' | 'occurredAt' | 'userId' | 'traceId' | 'isResolved'>,
): readonly TracedFeedback[] {
  const found = readOpinion(annotation);
  if (found === null) return [];
  const id = annotationFeedbackId(annotation, queryId);
  const document = readAnnotatedDocument(annotation.metadata);
  return [{ id, queryId, ...found, ...document, comment: annotation.explanation, ...rest }];
}

/**
 * Extracts feedback from `gen_ai.evaluation.result` events (OTel GenAI) in log records. The feedback applies to the
 * span that the record names. The live query is unknown here: see `TracedFeedback.isResolved`. Events with only a
 * `gen_ai.response.id` cannot be assigned to a query.
 */
export function extractLogFeedback(
  records: readonly OtlpLogRecord[],
  { pipelineOf }: Pick<ExtractionOptions, 'pipelineOf'>,
): TracedFeedback[] {
  return records.flatMap((record) => {
    const { traceId, spanId, attributes } = record;
    // Before log records had an event name field, the name was an attribute.
    const name = record.eventName === '' ? readString(attributes['event.name']) : record.eventName;
    const annotation = readEvaluationEvent(name, attributes);
    const pipeline = pipelineOf(record);
    if (annotation === null || traceId === null || spanId === null || pipeline === null) return [];
    const { userId } = readPerson([attributes]);
    const occurredAt = toDate(record.timeUnixNano);
    return feedbackOn(liveQueryId(traceId, spanId), annotation, {
      pipeline,
      occurredAt,
      userId,
      traceId,
      isResolved: false,
    });
  });
}

/**
 * Extracts feedback from the annotations of spans and from their `gen_ai.evaluation.result` events.
 *
 * An annotation refers to its own span, except on carrier spans, which are created after the annotated span has ended.
 * A carrier is an evaluator span, or a span that follows no known convention and has exactly one link. Annotations on a
 * carrier refer to the target of its only link, never to its parent. Annotations on sessions cannot be assigned to a
 * query. The same applies to annotations on an evaluator span that does not have exactly one link.
 *
 * The live query is the annotated span, the retriever around it, or the only query of its trace in this export: users
 * usually rate the answer span, which contains the retriever. If a trace has several queries, a citation refers to the
 * first query that returned the cited document.
 */
export function readSpanFeedback(index: TraceIndex, queries: readonly LiveQuery[], options: ExtractionOptions) {
  const findQuery = queryFinder(index, queries);
  const feedback: TracedFeedback[] = [];
  const annotatedSpans = new Set<OtlpSpan>();
  for (const span of index.spans) {
    for (const { annotation, timeUnixNano } of annotationsOf(span)) {
      const target = targetOf(span, index);
      if (target === null) continue;
      const cited = isCitation(annotation) ? readAnnotatedDocument(annotation.metadata).documentId : null;
      const query = findQuery(target, annotation.scope) ?? queryWith(queries, target.traceId, cited);
      const pipeline = query?.pipeline ?? options.pipelineOf(span);
      if (pipeline === null) continue;
      const around = [span, ...index.ancestorsOf(span)].map(({ attributes }) => attributes);
      const found = feedbackOn(query?.id ?? liveQueryId(target.traceId, target.spanId), annotation, {
        pipeline,
        occurredAt: toDate(timeUnixNano),
        userId: readPerson(around).userId ?? query?.userId ?? null,
        traceId: target.traceId,
        isResolved: query !== null,
      });
      if (found.length > 0) annotatedSpans.add(span);
      feedback.push(...found);
    }
  }
  return { feedback, annotatedSpans };
}

function queryWith(queries: readonly LiveQuery[], traceId: string, documentId: string | null): LiveQuery | null {
  if (documentId === null) return null;
  const hasDocument = ({ results }: LiveQuery): boolean => results.some(({ id }) => id === documentId);
  return queries.find((query) => query.traceId === traceId && hasDocument(query)) ?? null;
}

function annotationsOf(span: OtlpSpan) {
  const inline = readAnnotations(span.attributes);
  const events = span.events.flatMap(({ name, attributes, timeUnixNano }) => {
    const annotation = readEvaluationEvent(name, attributes);
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

/** Creates a function that finds the live query of a span or trace in this export. */
function queryFinder(index: TraceIndex, queries: readonly LiveQuery[]) {
  const byId = new Map(queries.map((query) => [query.id, query]));
  /** For each trace id, the only query of the trace; null if the trace has several queries. */
  const onlyOfTrace = new Map<string | null, LiveQuery | null>();
  for (const query of queries) onlyOfTrace.set(query.traceId, onlyOfTrace.has(query.traceId) ? null : query);

  return (target: SpanLink, scope: Annotation['scope']): LiveQuery | null => {
    const span = index.find(target.traceId, target.spanId);
    const around = span === null ? null : index.retrieverAround(span);
    const query = byId.get(liveQueryId(target.traceId, around?.spanId ?? target.spanId));
    if (query !== undefined) return query;
    // An unknown span may be a retriever in another export, so only annotations on the whole trace are assigned.
    return span !== null || scope === 'trace' ? (onlyOfTrace.get(target.traceId) ?? null) : null;
  };
}
