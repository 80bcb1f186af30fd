/**
 * Config schemas for the section `alerts` (alert links and accepted false pages) and for the objectives of live
 * traffic.
 */
import { z } from 'zod';
import { durationMs } from '../../platform/config/times.ts';
import { metricCatalogue } from '../../platform/metrics/catalogue.ts';

/** Labels that Prometheus must not set on targets, because they would hide metric labels. */
const ownLabels: ReadonlySet<string> = new Set(Object.values(metricCatalogue).flatMap(({ labels }) => labels));

const budgetForm = /^([1-9]\d{0,3}) per ([1-9]\d{0,5}[mhd])$/;

const periodBudgetSchema = z.string().regex(budgetForm, { error: 'must have the form "1 per 365d"' });

/** @param text a budget that periodBudgetSchema accepts */
export function periodBudget(text: string): { readonly count: number; readonly periodMs: number } {
  const [, count = '1', period = '365d'] = budgetForm.exec(text) ?? [];
  return { count: Number(count), periodMs: durationMs(period) };
}

const url = (text: string) =>
  z
    .string()
    .regex(/^https?:\/\/\S+$/, { error: 'must be an http:// or https:// URL' })
    .nullable()
    .default(null)
    .describe(text)
    .meta({ secret: 'url' });

export const alertsSchema = z
  .strictObject({
    runbook_base_url: url(
      'Base URL at which you publish docs/runbooks. If null, alerts link to the runbooks in the console.',
    ),
    dashboard_base_url: url('Base URL of Grafana, for links from alerts to dashboards.'),
    console_base_url: url('Base URL at which browsers reach recalld, for links from alerts and dashboards.'),
    scrape_job: z
      .string()
      .regex(/^[\w.:/-]+$/, { error: 'must contain only letters, digits and . : / - _' })
      .default('recalld')
      .describe('Value of the `job` label on recalld targets in Prometheus.'),
    group_labels: z
      .array(z.string().regex(/^[a-zA-Z_]\w*$/, { error: 'must be a label name: letters, digits and _' }))
      .min(1)
      .refine((labels) => new Set(labels).size === labels.length, { error: 'contains a label twice' })
      .superRefine((labels, context) => {
        for (const label of labels.filter((one) => ownLabels.has(one)))
          context.addIssue({
            code: 'custom',
            message: `${label} is a label of recalld's own metrics; list only target labels`,
          });
      })
      .default(['job'])
      .describe(
        'Target labels that distinguish several recalld deployments in one Prometheus. Rules and dashboards keep these deployments separate.',
      ),
    false_pages: z
      .strictObject({
        drift: periodBudgetSchema
          .default('1 per 365d')
          .describe('Accepted rate of false pages from the density drift checks of all pipelines combined.'),
        per_pipeline: periodBudgetSchema
          .default('1 per 90d')
          .describe(
            'Accepted rate of false pages from the checks of one pipeline. `recalld config check` warns if it expects a higher rate.',
          ),
      })
      .prefault({})
      .describe('Accepted rates of false pages.'),
  })
  .prefault({})
  .describe('Links and labels for `recalld rules` and `recalld dashboards`, and the accepted rate of false pages.');

const share = z.number().gt(0).lt(1);

export const objectivesSchema = z
  .strictObject({
    success: share.optional().describe('Target share of live queries without an error or a timeout.'),
    results: share.optional().describe('Target share of live queries that return a document.'),
    latency: z
      .strictObject({
        within_seconds: z.number().positive().describe('Latency limit, in seconds; one of `metrics.latency_buckets`.'),
        target: share.describe('Target share of live queries within the latency limit.'),
      })
      .optional()
      .describe('Latency objective for live queries.'),
    window_days: z.int().min(7).max(90).default(30).describe('Length of the objective window, in days.'),
  })
  .describe('Objectives for live traffic, used by burn-rate alerts.');
