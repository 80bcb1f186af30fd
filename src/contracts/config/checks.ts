/** The `checks` of a pipeline: floors and regressions of golden measures, thresholds on everything else. */
import { z } from 'zod';
import {
  isWatchedMeasure,
  type WatchedMeasureName,
  watchedMeasureNames,
  watchedMeasures,
} from '../../core/checks/watched-measures.ts';
import { RecalldError } from '../../core/errors.ts';
import { runMeasures } from '../../core/golden/query-scores.ts';
import { type MetricKey, parseMetricKey } from '../../core/ir/metric-key.ts';
import { severities } from '../../core/model.ts';
import { closest } from '../../core/spelling.ts';

const severity = z
  .enum(severities)
  .default('critical')
  .describe('How bad a breach is: critical pages, a warning does not.');

const goldenMeasure = z.string().superRefine((text, context) => {
  const problem = measureProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

function measureProblem(text: string): string | null {
  const key = readMetricKey(text);
  if (key === null) {
    const [name = '', cutoff = ''] = text.split('@');
    const guess = closest(name.toLowerCase(), [...runMeasures, ...watchedMeasureNames]);
    if (guess === null || guess === name) {
      return `is not a measure; write one of ${runMeasures.join(', ')} with a cut-off, such as ndcg@10`;
    }
    return `is not a measure; did you mean "${guess}${isWatchedMeasure(guess) ? '' : `@${/^[1-9]\d*$/.test(cutoff) ? cutoff : 10}`}"?`;
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

const belowMeasures = watchedMeasureNames.filter((name) => watchedMeasures[name].worse === 'below');
const aboveMeasures = watchedMeasureNames.filter((name) => watchedMeasures[name].worse === 'above');

const thresholdShape = {
  severity,
  segments: z
    .enum(['all', 'each'])
    .default('all')
    .describe('`all`: the traffic as a whole is judged; `each`: every segment is, and the worst decides.'),
  min_n: z
    .int()
    .min(1)
    .optional()
    .describe(
      'A value of fewer queries, opinions or sessions is not judged; left out, the default of the measure.',
    ),
  confirm: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe(
      'New measurements in a row that it takes to change the verdict; left out, the default of the measure.',
    ),
  no_data: z
    .enum(['alarm', 'silent'])
    .default('silent')
    .describe(
      'What too little traffic to judge is: `alarm` or `silent`. When nothing is measured at all, it is always an alarm.',
    ),
};

const belowCheck = z
  .strictObject({
    measure: z.enum(belowMeasures as [WatchedMeasureName]).describe('The measure, for which lower is worse.'),
    below: z.number().positive().describe('Value below which it is a breach, such as 0.6.'),
    ...thresholdShape,
  })
  .describe('A measure of traffic, density, index or labels that shall not fall below a value.');

const aboveCheck = z
  .strictObject({
    measure: z
      .enum(aboveMeasures as [WatchedMeasureName])
      .describe('The measure, for which higher is worse.'),
    above: z.number().min(0).describe('Value above which it is a breach: a share such as 0.05, or seconds.'),
    ...thresholdShape,
  })
  .describe('A measure of traffic, retriever, coverage or age that shall not rise above a value.');

const regressionCheck = z
  .strictObject({
    regression: goldenMeasure.describe('A golden metric key such as `ndcg@10`.'),
    drop: z.number().positive().describe('Least fall against the baseline that matters, such as 0.02.'),
    alpha: z.number().gt(0).lt(1).default(0.01).describe('Significance level of the paired test.'),
    severity,
    runs: z.int().min(1).default(2).describe('Runs in a row that must show it.'),
  })
  .describe('A golden measure that falls below its baseline.');

const densityCheck = z
  .strictObject({ density_drift: z.literal(true).describe('Watch the drift of query density.'), severity })
  .describe('Live queries that the store covers worse than before: a page is a breach, a ticket a warning.');

const staleLabelsCheck = z
  .strictObject({
    stale_labels_above: z
      .number()
      .min(0)
      .max(1)
      .describe('Largest share of the judged documents that may be gone from the store.'),
    severity,
  })
  .describe('Judged documents that are gone from the store.');

export const checkSchema = z.union([
  floorCheck,
  belowCheck,
  aboveCheck,
  regressionCheck,
  densityCheck,
  staleLabelsCheck,
]);

export type CheckConfig = z.infer<typeof checkSchema>;

export type ThresholdConfig = z.infer<typeof belowCheck> | z.infer<typeof aboveCheck>;

/** Whether it is a threshold on something else than a golden score. */
export function isThreshold(check: CheckConfig): check is ThresholdConfig {
  return 'measure' in check && isWatchedMeasure(check.measure);
}
