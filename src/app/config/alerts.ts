/**
 * What alerts need to know beyond the pipelines: where they link to, how many false ones are accepted, and the
 * objectives of live traffic.
 */
import { z } from 'zod';
import { durationMs } from '../../platform/config/times.ts';
import { metricCatalogue } from '../../platform/metrics/catalogue.ts';

/** What Prometheus may not give to targets, as it would hide what the metrics themselves say. */
const ownLabels: ReadonlySet<string> = new Set(Object.values(metricCatalogue).flatMap(({ labels }) => labels));

const budgetForm = /^([1-9]\d{0,3}) per ([1-9]\d{0,5}[mhd])$/;

/** So many in a length of time, as people write it: `1 per 90d`. */
const periodBudgetSchema = z.string().regex(budgetForm, { error: 'must be written like "1 per 365d"' });

/** @param text that its schema has accepted */
export function periodBudget(text: string): { readonly count: number; readonly periodMs: number } {
  const [, count = '1', period = '365d'] = budgetForm.exec(text) ?? [];
  return { count: Number(count), periodMs: durationMs(period) };
}

const url = z.string().regex(/^https?:\/\/\S+$/, { error: 'must be an http:// or https:// URL' });

export const alertsSchema = z
  .strictObject({
    runbook_base_url: url
      .nullable()
      .default(null)
      .describe('URL under which docs/runbooks is served; left out, alerts link to those that the console serves.')
      .meta({ secret: 'url' }),
    dashboard_base_url: url
      .nullable()
      .default(null)
      .describe('URL of Grafana; alerts link to its dashboards.')
      .meta({ secret: 'url' }),
    console_base_url: url
      .nullable()
      .default(null)
      .describe('URL under which browsers reach recalld; alerts and dashboards link to it.')
      .meta({ secret: 'url' }),
    scrape_job: z
      .string()
      .regex(/^[\w.:/-]+$/, { error: 'must be letters, digits and . : / - _' })
      .default('recalld')
      .describe('Label `job` that Prometheus gives to the targets of recalld.'),
    group_labels: z
      .array(z.string().regex(/^[a-zA-Z_]\w*$/, { error: 'must be the name of a label: letters, digits and _' }))
      .min(1)
      .refine((labels) => new Set(labels).size === labels.length, { error: 'names a label twice' })
      .superRefine((labels, context) => {
        for (const label of labels.filter((one) => ownLabels.has(one)))
          context.addIssue({ code: 'custom', message: `${label} is a label of the metrics of recalld itself` });
      })
      .default(['job'])
      .describe(
        'Labels of its targets by which one deployment of recalld differs from another under the same Prometheus: rules and dashboards keep them apart by these.',
      ),
    false_pages: z
      .strictObject({
        drift: periodBudgetSchema
          .default('1 per 365d')
          .describe('How many false pages the density watches of all pipelines together may make.'),
        per_pipeline: periodBudgetSchema
          .default('1 per 90d')
          .describe(
            'How many false pages the checks of one pipeline may make; `recalld config check` says when more are to be expected.',
          ),
      })
      .prefault({})
      .describe('How often you accept to be paged for nothing.'),
  })
  .prefault({})
  .describe(
    'What `recalld rules` writes into the rules and `recalld dashboards` into the dashboards, and how many false pages are accepted.',
  );

const share = z.number().gt(0).lt(1);

export const objectivesSchema = z
  .strictObject({
    success: share.optional().describe('Share of live queries that do not fail or time out.'),
    results: share.optional().describe('Share of live queries that find a document.'),
    latency: z
      .strictObject({
        within_seconds: z.number().positive().describe('One of `metrics.latency_buckets`.'),
        target: share.describe('Share of live queries that are answered within it.'),
      })
      .optional()
      .describe('How fast live queries are answered.'),
    window_days: z.int().min(7).max(90).default(30).describe('Days over which an objective is to be met.'),
  })
  .describe('Objectives of live traffic, for burn-rate alerts.');
