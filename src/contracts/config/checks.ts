/** The `checks` of a pipeline. Only floors of golden measures are judged so far; the rest is accepted and announced. */
import { z } from 'zod';
import { RecalldError } from '../../core/errors.ts';
import { parseMetricKey } from '../../core/ir/metric-key.ts';

const severity = z.enum(['critical', 'warning']).default('critical').describe('What a breach is.');

/** Golden measures are metric keys such as `ndcg@10`; live measures have plain names. */
const liveMeasures: readonly string[] = ['feedback_positive_ratio', 'zero_results_ratio', 'error_ratio'];

export function isGoldenMeasure(measure: string): boolean {
  return !liveMeasures.includes(measure);
}

function isMetricKey(text: string): boolean {
  try {
    parseMetricKey(text);
    return true;
  } catch (error) {
    if (error instanceof RecalldError) return false;
    throw error;
  }
}

const measure = z.string().refine((text) => liveMeasures.includes(text) || isMetricKey(text), {
  error: 'is not a measure; golden ones look like ndcg@10, mrr@10 or hit_rate@5',
});

const floorCheck = z.strictObject({
  measure: measure.describe('A golden metric key such as `ndcg@10`.'),
  below: z.number().describe('Critical when the upper bound is below it, warning when the mean is.'),
  severity,
});

const regressionCheck = z
  .strictObject({
    regression: measure,
    drop: z.number().positive(),
    alpha: z.number().gt(0).lt(1).default(0.01),
    severity,
    runs: z.int().min(1).default(2),
  })
  .meta({ inactive: true });

const densityCheck = z.strictObject({ density_drift: z.literal(true), severity }).meta({ inactive: true });

const staleLabelsCheck = z.strictObject({ stale_labels_above: z.number().min(0).max(1), severity }).meta({ inactive: true });

export const checkSchema = z.union([floorCheck, regressionCheck, densityCheck, staleLabelsCheck]);

export type CheckConfig = z.infer<typeof checkSchema>;
