/**
 * Counters whose labels are known before anything is counted. They are shown as 0 from the start, since the increase of
 * a counter that appears with its first event is 0, and an alert would miss it.
 */

import { feedbackKinds } from '../live/rules/live-query.ts';
import { labelValues } from '../metrics/catalogue.ts';
import type { Meter } from '../metrics/meter.ts';
import { rejectionTable } from '../rejection.ts';
import type { Config } from './config/schema.ts';
import { jobCatalogue } from './job-catalogue.ts';

/** What a worker counts. */
export function showJobCounters(
  { notify, metrics, pipelines }: Pick<Config, 'notify' | 'metrics' | 'pipelines'>,
  meter: Pick<Meter, 'increment'>,
): void {
  for (const { kind } of notify) {
    for (const outcome of labelValues.recalld_notifications_total.outcome)
      meter.increment('recalld_notifications_total', { kind, outcome }, 0);
  }
  for (const { name: pipeline, judged, shadow } of pipelines) {
    for (const { name } of shadow) {
      for (const outcome of labelValues.recalld_shadow_live_questions_total.outcome)
        meter.increment('recalld_shadow_live_questions_total', { pipeline, shadow: name, outcome }, 0);
    }
    if (judged === undefined) continue;
    for (const reason of labelValues.recalld_judge_failures_total.reason)
      meter.increment('recalld_judge_failures_total', { pipeline, reason }, 0);
    meter.increment('recalld_judge_cost_dollars_total', { pipeline }, 0);
    meter.increment('recalld_judge_flagged_total', { pipeline }, 0);
    meter.increment('recalld_judge_unaffordable_queries_total', { pipeline }, 0);
    if (metrics.otlp?.send.includes('evaluations') !== true) continue;
    for (const outcome of labelValues.recalld_evaluation_requests_total.outcome)
      meter.increment('recalld_evaluation_requests_total', { pipeline, outcome }, 0);
  }
  for (const { name: task } of jobCatalogue) {
    for (const outcome of labelValues.recalld_jobs_total.outcome)
      meter.increment('recalld_jobs_total', { task, outcome }, 0);
  }
}

/** What a process counts that takes in live traffic. */
export function showIngestCounters({ pipelines }: Config, meter: Pick<Meter, 'increment'>): void {
  for (const reason of labelValues.recalld_ingest_shed_total.reason)
    meter.increment('recalld_ingest_shed_total', { reason }, 0);
  for (const code of Object.keys(rejectionTable)) meter.increment('recalld_ingest_rejected_total', { code }, 0);
  for (const outcome of labelValues.recalld_otlp_spans_total.outcome)
    meter.increment('recalld_otlp_spans_total', { outcome }, 0);
  for (const { name: pipeline, privacy } of pipelines) {
    for (const outcome of labelValues.recalld_queries_total.outcome)
      meter.increment('recalld_queries_total', { pipeline, outcome }, 0);
    meter.increment('recalld_query_zero_results_total', { pipeline }, 0);
    for (const kind of feedbackKinds) {
      for (const sentiment of labelValues.recalld_feedback_total.sentiment)
        meter.increment('recalld_feedback_total', { pipeline, kind, sentiment }, 0);
    }
    if (privacy.presidio === undefined) continue;
    for (const outcome of labelValues.recalld_redaction_service_total.outcome)
      meter.increment('recalld_redaction_service_total', { pipeline, outcome }, 0);
  }
}
