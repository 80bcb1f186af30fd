/** The feedback in log records: the one entry for `/v1/logs`. */
import { EVALUATION_EVENT, readEvaluationEvent } from './annotation.ts';
import { readString } from './attribute.ts';
import type { ExtractionOptions } from './extraction-options.ts';
import { annotationFeedbackId, readJudgedDocument, readOpinion, type TracedFeedback } from './feedback.ts';
import { readPerson } from './person.ts';
import { liveQueryId, type OtlpLogRecord, toDate } from './span.ts';

export interface LogExtraction {
  readonly feedback: readonly TracedFeedback[];
  /** Log records that are no evaluation. */
  readonly ignoredRecords: number;
  readonly machineJudgments: number;
  /** Evaluations that are no feedback of a known kind, or that name no span or pipeline. */
  readonly unusableAnnotations: number;
}

/**
 * Reads the events `gen_ai.evaluation.result` (OTel GenAI) among log records as feedback on the span that they were
 * written in. The live query is never known here: see `TracedFeedback.isResolved`. An event that names only a
 * `gen_ai.response.id` is about an answer that we do not know.
 */
export function extractLogFeedback(
  records: readonly OtlpLogRecord[],
  options: Pick<ExtractionOptions, 'pipelineOf'>,
): LogExtraction {
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
  return { feedback, ignoredRecords, machineJudgments, unusableAnnotations };
}
