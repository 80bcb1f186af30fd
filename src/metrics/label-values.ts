/**
 * The values of labels that have a closed list, by metric. Rules that match on another value do not compile; for a
 * label that is not here, such as the name of a pipeline, any text may be matched.
 */
import { causes, confidences } from '../diagnosis/rules/cause.ts';
import { sentiments } from '../live/rules/feedback/sentiment.ts';
import { feedbackBases } from '../live/rules/feedback/user-cap.ts';
import { queryOutcomes, runStatuses, severities, verdicts } from '../model.ts';
import type { LabelsOf, MetricName } from './catalogue.ts';

export const labelValues = {
  recalld_golden_queries: { outcome: queryOutcomes },
  recalld_golden_runs: { status: runStatuses },
  recalld_threshold: { severity: severities },
  recalld_check_state: { state: verdicts },
  recalld_diagnosis_info: { cause: causes, confidence: confidences },
  recalld_queries_total: { outcome: queryOutcomes },
  recalld_ingest_shed_total: { reason: ['database', 'disk_full', 'overload', 'rate_limit'] },
  recalld_redaction_service_total: { outcome: ['ok', 'failed', 'timeout', 'malformed', 'overloaded'] },
  recalld_otlp_spans_total: {
    outcome: [
      'live_query',
      'ignored',
      'truncated',
      'without_documents',
      'without_pipeline',
      'fragment_dropped',
    ],
  },
  recalld_feedback_total: { sentiment: sentiments },
  recalld_feedback_positive_ratio: { basis: feedbackBases },
  recalld_feedback_positive_ratio_ci_high: { basis: feedbackBases },
  recalld_feedback_opinions: { basis: feedbackBases },
  recalld_jobs_total: { outcome: ['completed', 'failed', 'dead'] },
  recalld_queue_jobs: { state: ['waiting', 'active', 'delayed', 'failed'] },
} as const satisfies {
  readonly [Name in MetricName]?: { readonly [Label in keyof LabelsOf<Name>]?: readonly string[] };
};
