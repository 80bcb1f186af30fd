/**
 * From the annotations and evaluations of spans and log records to feedback: which judgments are a user's, and of what
 * kind.
 */
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

/** Annotations and evaluations as spans and log records carry them. */
export interface Annotation {
  /** What was judged: the span, or its whole trace, or the session. */
  readonly scope: 'span' | 'trace' | 'session';
  readonly name: string;
  readonly score: number | null;
  readonly label: string | null;
  readonly explanation: string | null;
  /** Who judged: HUMAN, LLM, CODE or a word of the service's own; null when it is not told. */
  readonly annotatorKind: string | null;
  /** Tells judgments of the same thing by the same name apart; null when there is only one. */
  readonly identifier: string | null;
  readonly metadata: Attributes | null;
}

/** The name of the event with which OTel GenAI tells of an evaluation. */
const EVALUATION_EVENT = 'gen_ai.evaluation.result';

/**
 * The annotations on a span, by OpenInference's `annotations.N.annotation.*` or `evaluations.N.evaluation.*`, alone or
 * behind `trace.` or `session.`. A judgment that is told in both forms is one.
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

/** The evaluation that an event or log record `gen_ai.evaluation.result` tells of; null when it names none. */
function readEvaluationEvent(attributes: Attributes): Annotation | null {
  const form = 'gen_ai.evaluation';
  return readAnnotation(attributes, 'span', form, `${form}.score.value`, `${form}.score.label`);
}

const scopes = [
  ['span', ''],
  ['trace', 'trace.'],
  ['session', 'session.'],
] as const;

function readAnnotation(
  fields: Attributes,
  scope: Annotation['scope'],
  form: string,
  scoreName: string,
  labelName: string,
): Annotation | null {
  const name = readShortText(fields[`${form}.name`]);
  if (name === null) return null;
  // The event has no field for these; OpenInference asks gateways to keep them as further attributes.
  const either = (field: string) => [`${form}.${field}`, `annotation.${field}`];
  return {
    scope,
    name,
    score: readNumber(fields[scoreName]),
    label: readShortText(fields[labelName]),
    explanation: readText(fields[`${form}.explanation`]),
    annotatorKind: readFirst(fields, either('annotator_kind'), readString),
    identifier: readFirst(fields, either('identifier'), readString),
    metadata: readFirst(fields, either('metadata'), readObject),
  };
}

/** Feedback whose live query may still have to be found. Its `id` is no sender's: see `annotationFeedbackId`. */
export interface TracedFeedback extends Feedback {
  readonly traceId: string;
  /**
   * Whether `queryId` is a live query of the same export. When it is not, the span that was judged may be one of
   * another export, or no retriever: then the feedback is about the live query of `traceId`, if it has only one.
   */
  readonly isResolved: boolean;
}

/** What an annotation says, as feedback. */
interface Opinion {
  readonly kind: FeedbackKind;
  readonly value: Feedback['value'];
}

/** `machine`: no person judged. `unknown`: nothing that we know how to count. */
type AnnotationReading =
  | { readonly kind: 'opinion'; readonly opinion: Opinion }
  | { readonly kind: 'machine' }
  | { readonly kind: 'unknown' };

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
 * Reads an annotation as feedback.
 *
 * Judgments by an `annotator_kind` other than HUMAN are not feedback of users. Where the kind is not told, as in
 * every `gen_ai.evaluation.result`, the name has to say that it is one of these:
 *
 * | name holds | kind | value |
 * |---|---|---|
 * | `relevan` | relevance | the score, else 1 or 0 for the labels relevant and not_relevant |
 * | `rating`, `stars`, `csat` | rating | the score |
 * | `thumb`, `feedback`, `helpful`, `vote`, `like`, `satisf` | thumb | up or down by the label, else by a score of 1, 0 or -1; another score is a rating |
 * | anything else, by a HUMAN | thumb | up or down by the label |
 *
 * A score alone says nothing under a name that we do not know: a `hallucination` of 1 is bad.
 */
function readOpinion(annotation: Annotation): AnnotationReading {
  const { name, score, label, annotatorKind } = annotation;
  if (annotatorKind !== null && annotatorKind.toUpperCase() !== 'HUMAN') return { kind: 'machine' };
  const thumb = goodLabels.test(label ?? '') ? 'up' : badLabels.test(label ?? '') ? 'down' : null;
  if (relevanceNames.test(name)) return opinion('relevance', score ?? relevanceOf(label));
  if (ratingNames.test(name)) return opinion('rating', score);
  if (thumbNames.test(name)) {
    if (thumb !== null || score === null) return opinion('thumb', thumb);
    return [1, 0, -1].includes(score) ? opinion('thumb', score === 1 ? 'up' : 'down') : opinion('rating', score);
  }
  return annotatorKind === null ? { kind: 'unknown' } : opinion('thumb', thumb);
}

function opinion(kind: FeedbackKind, value: Feedback['value']): AnnotationReading {
  return value === null ? { kind: 'unknown' } : { kind: 'opinion', opinion: { kind, value } };
}

function relevanceOf(label: string | null): number | null {
  if (relevantLabels.test(label ?? '')) return 1;
  return irrelevantLabels.test(label ?? '') ? 0 : null;
}

const MAX_RANK = 10_000;

/** The document that a judgment is about, by the `metadata` that Phoenix gives document annotations. */
function readJudgedDocument(metadata: Attributes | null): Pick<Feedback, 'documentId' | 'rank'> {
  const rank = (readNumber(metadata?.['document_position']) ?? -1) + 1;
  return {
    documentId: readFirst(metadata ?? {}, ['document_id', 'document.id'], readId),
    rank: Number.isInteger(rank) && rank >= 1 && rank <= MAX_RANK ? rank : null,
  };
}

/**
 * The idempotency key of an annotation that has an identifier: a later one about the same target by the same name and
 * identifier stands in for it. Null without an identifier: then it is derived from what the feedback says. Identifiers
 * are names of users in many services, so a keyed hash takes its place in the database.
 */
function annotationFeedbackId({ scope, name, identifier }: Annotation, queryId: string): string | null {
  return identifier === null ? null : JSON.stringify([scope, queryId, name, identifier]);
}

/** The feedback in log records: the one entry for `/v1/logs`. */
export type LogExtraction = ReturnType<typeof extractLogFeedback>;

/**
 * Reads the events `gen_ai.evaluation.result` (OTel GenAI) among log records as feedback on the span that they were
 * written in. The live query is never known here: see `TracedFeedback.isResolved`. An event that names only a
 * `gen_ai.response.id` is about an answer that we do not know.
 */
export function extractLogFeedback(records: readonly OtlpLogRecord[], options: Pick<ExtractionOptions, 'pipelineOf'>) {
  const feedback: TracedFeedback[] = [];
  let ignoredRecords = 0;
  let machineJudgments = 0;
  let unusableAnnotations = 0;
  for (const record of records) {
    const { traceId, spanId, attributes } = record;
    // The attribute is how events were named before log records had a field for it.
    const name = record.eventName === '' ? readString(attributes['event.name']) : record.eventName;
    const annotation = name === EVALUATION_EVENT ? readEvaluationEvent(attributes) : null;
    const reading = annotation === null ? null : readOpinion(annotation);
    const pipeline = options.pipelineOf(record);
    if (annotation === null || reading === null) ignoredRecords += 1;
    else if (reading.kind === 'machine') machineJudgments += 1;
    else if (reading.kind === 'unknown' || traceId === null || spanId === null || pipeline === null)
      unusableAnnotations += 1;
    else {
      const queryId = liveQueryId(traceId, spanId);
      feedback.push({
        id: annotationFeedbackId(annotation, queryId),
        queryId,
        pipeline,
        ...reading.opinion,
        ...readJudgedDocument(annotation.metadata),
        occurredAt: toDate(record.timeUnixNano),
        userId: readPerson([attributes]).userId,
        comment: annotation.explanation,
        traceId,
        isResolved: false,
      });
    }
  }
  return {
    feedback,
    /** Log records that are no evaluation. */
    ignoredRecords,
    machineJudgments,
    /** Evaluations that are no feedback of a known kind, or that name no span or pipeline. */
    unusableAnnotations,
  };
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
export function readSpanFeedback(index: TraceIndex, queries: readonly LiveQuery[], options: ExtractionOptions) {
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
      else if (reading.kind === 'unknown' || annotation.scope === 'session' || target === null || pipeline === null)
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
  return {
    feedback,
    /** The spans that carried it. */
    annotatedSpans: [...annotatedSpans],
    machineJudgments,
    unusableAnnotations,
  };
}

function annotationsOf(span: OtlpSpan) {
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
