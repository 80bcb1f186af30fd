/**
 * The model's scores for one live query, as `gen_ai.evaluation.result` events on its span.
 *
 * Source: docs/gen-ai/gen-ai-events.md of github.com/open-telemetry/semantic-conventions-genai. The judge kind is
 * reported as `annotation.annotator_kind` from OpenInference, because the event has no field for the judge kind.
 */

import type { QueryOutcome } from '../../core/model.ts';
import { spanOfLiveQuery } from '../../live/rules/otel/span.ts';
import { formatMetricKey } from '../../math/ir/metric-key.ts';
import type { GradedDocument } from './judged-measures.ts';
import { judgedScores, scoredMeasures } from './judged-scores.ts';

/** A selected query whose judging is finished. */
export interface EvaluatedQuery {
  readonly id: string;
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  readonly outcome: QueryOutcome;
  /** Fingerprint of the judge; null if nothing needed grading. */
  readonly judge: string | null;
  readonly at: Date;
  /** Documents, best first; empty for a query that failed or had no results. */
  readonly documents: readonly Pick<GradedDocument, 'model'>[];
}

const EVENT = 'gen_ai.evaluation.result';

const withoutDocuments: Record<Exclude<QueryOutcome, 'ok'>, string> = {
  empty: 'The retriever returned no documents.',
  error: 'The retriever failed.',
  timeout: 'The retriever did not respond in time.',
};

/**
 * Returns one event per score, as computed by `judgedScores`. As in the estimate for all traffic, a document that was
 * deleted or that the judge could not grade has grade 0. Only hit_rate has a label, which states whether any of the top
 * `depth` documents is relevant. Events contain no query or document texts.
 */
export function evaluationsOf(query: EvaluatedQuery, pipeline: string, depth: number) {
  const { id, traceId, outcome, judge, at, documents } = query;
  const grades = documents.slice(0, depth).map(({ model }) => model);
  const scores = judgedScores(
    grades.map((grade) => (typeof grade === 'number' ? grade : 0)),
    depth,
  );
  const given = grades.map((grade) => (typeof grade === 'number' ? String(grade) : 'none')).join(', ');
  const explanation =
    outcome === 'ok' ? `Grades of the top documents, 0 to 3, in rank order: ${given}.` : withoutDocuments[outcome];
  return scoredMeasures.map((measure) => ({
    name: EVENT,
    at,
    traceId,
    spanId: spanOfLiveQuery(id, traceId),
    attributes: {
      'gen_ai.evaluation.name': formatMetricKey({ measure, k: depth }),
      'gen_ai.evaluation.score.value': scores[measure],
      ...(measure === 'hit_rate'
        ? { 'gen_ai.evaluation.score.label': scores.hit_rate === 1 ? 'relevant' : 'not_relevant' }
        : {}),
      'gen_ai.evaluation.explanation': explanation,
      'annotation.annotator_kind': judge === null ? 'CODE' : 'LLM',
      'recalld.pipeline': pipeline,
      'recalld.query_id': id,
      ...(judge === null ? {} : { 'recalld.judge': judge }),
    },
  }));
}
