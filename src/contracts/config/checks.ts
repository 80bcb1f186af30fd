/** The `checks` of a pipeline. Only floors of golden measures are judged so far; the rest is accepted and announced. */
import { z } from 'zod';
import { RecalldError } from '../../core/errors.ts';
import { runMeasures } from '../../core/golden/score-run.ts';
import { type MetricKey, parseMetricKey } from '../../core/ir/metric-key.ts';
import { closest } from '../../core/spelling.ts';

const severity = z.enum(['critical', 'warning']).default('critical').describe('What a breach is.');

/** Golden measures are metric keys such as `ndcg@10`; live measures have plain names. */
const liveMeasures = ['feedback_positive_ratio', 'zero_results_ratio', 'error_ratio'] as const;

/** Whether a floor of this measure is judged by golden runs; the others wait for live traffic. */
export function isGoldenMeasure(measure: string): boolean {
  return !(liveMeasures as readonly string[]).includes(measure);
}

const goldenMeasure = z.string().superRefine((text, context) => {
  const problem = measureProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

function measureProblem(text: string): string | null {
  const key = readMetricKey(text);
  if (key === null) {
    const [name = '', cutoff = ''] = text.split('@');
    const guess = closest(name.toLowerCase(), [...runMeasures, ...liveMeasures]);
    if (guess === null || guess === name) {
      return `is not a measure; write one of ${runMeasures.join(', ')} with a cut-off, such as ndcg@10`;
    }
    return `is not a measure; did you mean "${guess}${isGoldenMeasure(guess) ? `@${/^[1-9]\d*$/.test(cutoff) ? cutoff : 10}` : ''}"?`;
  }
  if (!runMeasures.includes(key.measure)) {
    return `is ${text}, which golden runs do not compute; use one of ${runMeasures.join(', ')}`;
  }
  return key.k === null
    ? `is ${text} without a cut-off; golden runs score at cut-offs, such as ${text}@10`
    : null;
}

/** Null for what is not a metric key. */
export function readMetricKey(text: string): MetricKey | null {
  try {
    return parseMetricKey(text);
  } catch (error) {
    if (error instanceof RecalldError) return null;
    throw error;
  }
}

const below = z.number().gt(0).lte(1).describe('Floor, a share such as 0.8.');

const floorCheck = z
  .strictObject({
    measure: goldenMeasure.describe('A golden metric key such as `ndcg@10`.'),
    below: below.describe(
      'Floor, a share such as 0.8: critical when the upper bound is below it, warning when only the mean is.',
    ),
    severity,
  })
  .describe('A floor of a golden measure, judged on every golden set of the pipeline.');

const liveFloorCheck = z
  .strictObject({ measure: z.enum(liveMeasures).describe('A measure of live traffic.'), below, severity })
  .describe('A floor of a live measure.')
  .meta({ inactive: true });

const regressionCheck = z
  .strictObject({
    regression: goldenMeasure.describe('A golden metric key such as `ndcg@10`.'),
    drop: z.number().positive().describe('Least difference to the baseline that matters.'),
    alpha: z.number().gt(0).lt(1).default(0.01).describe('Level of the paired test.'),
    severity,
    runs: z.int().min(1).default(2).describe('Runs in a row that must show it.'),
  })
  .describe('A golden measure that falls below its baseline.')
  .meta({ inactive: true });

const densityCheck = z
  .strictObject({ density_drift: z.literal(true).describe('Watch the drift of query density.'), severity })
  .describe('Live queries that the store covers worse than before.')
  .meta({ inactive: true });

const staleLabelsCheck = z
  .strictObject({
    stale_labels_above: z
      .number()
      .min(0)
      .max(1)
      .describe('Most judged documents that may be gone from the store, a share.'),
    severity,
  })
  .describe('Judged documents that are gone from the store.')
  .meta({ inactive: true });

export const checkSchema = z.union([
  floorCheck,
  liveFloorCheck,
  regressionCheck,
  densityCheck,
  staleLabelsCheck,
]);

export type CheckConfig = z.infer<typeof checkSchema>;
