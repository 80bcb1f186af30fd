/**
 * What the model's grades of one live query come to, as events `gen_ai.evaluation.result` on the span that it was.
 *
 * Source: docs/gen-ai/gen-ai-events.md of github.com/open-telemetry/semantic-conventions-genai. Who judged is
 * `annotation.annotator_kind` of OpenInference, since the event has no field for it.
 */

import type { QueryOutcome } from '../../core/model.ts';
import { spanOfLiveQuery } from '../../live/rules/otel/span.ts';
import { formatMetricKey } from '../../math/ir/metric-key.ts';
import type { GradedDocument } from './judged-measures.ts';
import { judgedScores, scoredMeasures } from './judged-scores.ts';

/** A drawn query whose turn is over. */
export interface EvaluatedQuery {
  readonly id: string;
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  readonly outcome: QueryOutcome;
  /** Names the judge; null where nobody was asked, since there was nothing to grade. */
  readonly judge: string | null;
  /** When the last grade was given. */
  readonly at: Date;
  /** Best first; empty for a query that failed or found nothing. */
  readonly documents: readonly Pick<GradedDocument, 'model'>[];
}

const EVENT = 'gen_ai.evaluation.result';

const withoutDocuments: Record<Exclude<QueryOutcome, 'ok'>, string> = {
  empty: 'The retriever found nothing.',
  error: 'The retriever failed.',
  timeout: 'The retriever did not answer in time.',
};

/**
 * One event for each judged score, as `judgedScores` computes it; a document that the judge failed on or that had gone
 * counts 0, as in the estimate of all traffic. Only hit_rate has a label: whether a document among the first `depth` is
 * relevant. No text of the query or of a document is in them.
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
    outcome === 'ok' ? `Grades of the best documents, 0 to 3, best ranked first: ${given}.` : withoutDocuments[outcome];
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
