/** Config schema for the `checks` of a pipeline. Rejects checks that could never be evaluated. */

import { z } from 'zod';
import { RecalldError } from '../core/errors.ts';
import { severities } from '../core/model.ts';
import { closest } from '../core/text/spelling.ts';
import { defaultCutoffs } from '../golden/rules/run.ts';
import { runMeasures } from '../golden/rules/score-run.ts';
import { type MetricKey, parseMetricKey } from '../math/ir/metric-key.ts';
import {
  isThresholdMeasure,
  type ThresholdMeasureName,
  thresholdMeasureNames,
  thresholdPolicy,
} from '../measures/rules/measure-table.ts';
import { isolationCheckName } from './rules/isolation-check.ts';

const severity = z
  .enum(severities)
  .default('critical')
  .describe('A `critical` failure pages; a `warning` opens a ticket.');

const name = z
  .string()
  .regex(/^\w(?:[\w .:@%/+-]{0,62}\w)?$/, {
    error: 'must be up to 64 letters, digits, spaces and . : @ % / + - _, with a letter, digit or _ at both ends',
  })
  .optional()
  .describe(
    'Name of the check in metrics, alerts and history. If you set a name, it stays the same when the threshold changes. recalld appends ` on SET` for a check on golden runs. Default: measure and threshold.',
  );

const goldenMeasure = z.string().superRefine((text, context) => {
  const problem = measureProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

function measureProblem(text: string): string | null {
  const key = readMetricKey(text);
  if (key === null) {
    const [name = '', cutoff = ''] = text.split('@');
    const guess = closest(name.toLowerCase(), [...runMeasures, ...thresholdMeasureNames]);
    if (guess === null || guess === name) {
      return `is not a measure; use one of ${runMeasures.join(', ')} with a cutoff, such as ndcg@10`;
    }
    return `is not a measure; did you mean "${guess}${isThresholdMeasure(guess) && !hasCutoff(guess) ? '' : `@${/^[1-9]\d*$/.test(cutoff) ? cutoff : 10}`}"?`;
  }
  if (!runMeasures.includes(key.measure)) {
    return `is ${text}, which golden runs do not compute; use one of ${runMeasures.join(', ')}`;
  }
  return key.k === null
    ? `is ${text} without a cutoff; add one of the cutoffs of the golden scores, such as ${text}@10`
    : null;
}

/** Returns null if the text is not a metric key. */
function readMetricKey(text: string): MetricKey | null {
  try {
    return parseMetricKey(text);
  } catch (error) {
    if (error instanceof RecalldError) return null;
    throw error;
  }
}

const below = z.number().gt(0).lte(1).describe('Minimum score, such as 0.8.');

const floorCheck = z
  .strictObject({
    name,
    measure: goldenMeasure.describe('Golden measure with a cutoff, such as `ndcg@10`.'),
    below,
    severity,
  })
  .describe(
    'A minimum for a golden measure, on every golden set of the pipeline. The check excludes queries that have only stale labels.',
  );

/**
 * Matches a judged live score, or rbo (the stability of results), with its cutoff, such as `live_ndcg@5` or `rbo@10`.
 */
const scoreAtCutoff = /^(live_[a-z_]+|rbo)@([1-9]\d*)$/;
const hasCutoff = (name: string): boolean => name.startsWith('live_') || name === 'rbo';

/** Returns the measure of a threshold; null for golden measures, which have separate checks. */
export function thresholdMeasure(text: string): ThresholdMeasureName | null {
  const [, name = text] = scoreAtCutoff.exec(text) ?? [];
  return isThresholdMeasure(name) && hasCutoff(name) === (name !== text) ? name : null;
}

const isOfEpisodes = (name: string): boolean => name === 'episode_hit_rate' || name === 'rewrite_gain';

const belowMeasures = thresholdMeasureNames.filter(
  (name) => thresholdPolicy(name).worse === 'below' && !hasCutoff(name),
);
const aboveMeasures = thresholdMeasureNames.filter((name) => thresholdPolicy(name).worse === 'above');

const thresholdShape = {
  name,
  severity,
  segments: z
    .enum(['all', 'each'])
    .default('all')
    .describe(
      '`all` evaluates all traffic together. `each` evaluates every segment, and the worst segment determines the verdict.',
    ),
  min_n: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Minimum number of queries, feedback items or sessions that are needed to compute a value. With fewer, the check has no data. Default: depends on the measure.',
    ),
  confirm: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe(
      'Number of consecutive measurements that must show the same new verdict before the verdict of the check changes. Default: depends on the measure.',
    ),
  no_data: z
    .enum(['alert', 'silent'])
    .default('silent')
    .describe(
      'With `alert`, an alert fires if there is too little traffic to evaluate the check. If recalld cannot measure the value at all, an alert always fires.',
    ),
};

const belowCheck = z
  .strictObject({
    measure: z.enum(belowMeasures as [ThresholdMeasureName]).describe('Measure for which lower values are worse.'),
    below: z.number().gt(-1).describe('Minimum value, such as 0.6. Must be above 0, except for `rewrite_gain`.'),
    ...thresholdShape,
  })
  .describe('A minimum for a measure of live traffic, of query density, of the index or of golden judgments.');

const scoreAtCutoffCheck = z
  .strictObject({
    measure: z
      .string()
      .refine((text) => scoreAtCutoff.test(text) && thresholdMeasure(text) !== null, {
        error: `must be a judged live score or rbo (${thresholdMeasureNames.filter(hasCutoff).join(', ')}), followed by @ and a cutoff, such as live_ndcg@5 or rbo@10`,
      })
      .describe(
        'Judged live score at `judged.depth`: live_ndcg@k, live_precision@k, live_hit_rate@k or live_mrr@k. Or rbo@k: how similar the results of a golden run are to the results of the pinned run, at the largest cutoff k of the golden sets.',
      ),
    below,
    ...thresholdShape,
  })
  .describe('A minimum for a judged live score, or for the stability of results.');

const aboveCheck = z
  .strictObject({
    measure: z.enum(aboveMeasures as [ThresholdMeasureName]).describe('Measure for which higher values are worse.'),
    above: z.number().min(0).describe('Maximum value: a share such as 0.05, or a time in seconds.'),
    ...thresholdShape,
  })
  .describe(
    'A maximum for a measure of live traffic, of the retriever or of the index, or for the age of golden runs or store samples.',
  );

const regressionCheck = z
  .strictObject({
    name,
    regression: goldenMeasure.describe('Golden measure with a cutoff, such as `ndcg@10`.'),
    drop: z.number().positive().describe('Smallest relevant drop from the baseline, such as 0.02.'),
    alpha: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.005)
      .describe(
        'Significance level of the one-sided test: the probability that a run shows a drop by chance when there is none.',
      ),
    severity,
    runs: z
      .int()
      .min(1)
      .default(2)
      .describe(
        'The check fails after this number of consecutive runs with the drop, and passes again after the same number of consecutive runs without the drop.',
      ),
  })
  .describe('A drop in a golden measure relative to its baseline.');

const densityCheck = z
  .strictObject({ name, density_drift: z.literal(true).describe('Monitors query density for drift.'), severity })
  .describe(
    'Fails if the documents in the store cover live queries significantly less well than baseline queries. A slight drift is only a warning.',
  );

const staleLabelsCheck = z
  .strictObject({
    name,
    stale_labels_above: z
      .number()
      .min(0)
      .max(1)
      .describe('Maximum share of judged documents with stale labels, such as 0.02.'),
    severity,
  })
  .describe(
    'A maximum for the share of judged documents with stale labels: documents whose text has another id in the store, or that the manifest lists as deleted.',
  );

const forbiddenCheck = z
  .strictObject({
    name,
    forbidden_results: z.literal(true).describe('Monitors the results of golden queries for forbidden documents.'),
    severity,
  })
  .describe(
    'Fails if the retriever returns a forbidden document, and returns it again when recalld repeats the query.',
  );

export const checkSchema = z.union([
  floorCheck,
  belowCheck,
  scoreAtCutoffCheck,
  aboveCheck,
  regressionCheck,
  densityCheck,
  staleLabelsCheck,
  forbiddenCheck,
]);

type CheckConfig = z.infer<typeof checkSchema>;

type ThresholdConfig = z.infer<typeof belowCheck> | z.infer<typeof scoreAtCutoffCheck> | z.infer<typeof aboveCheck>;

/** Returns true for a threshold on a measure other than a golden score. */
export function isThreshold(check: CheckConfig): check is ThresholdConfig {
  return 'measure' in check && thresholdMeasure(check.measure) !== null;
}

interface CheckedPipeline {
  readonly golden: readonly { readonly set: string; readonly cutoffs: readonly number[] }[];
  readonly checks: readonly CheckConfig[];
  readonly vector_store?: unknown;
  readonly density?: unknown;
  readonly judged?: { readonly depth: number } | undefined;
  readonly index?: unknown;
  readonly isolation: readonly { readonly name: string }[];
}

/**
 * Rejects checks that could never be evaluated, and suggests a fix. For example, a check on a golden set that is not
 * scored at the check's cutoff would stay at `no_data` forever.
 */
export function refuseImpossibleChecks(pipeline: CheckedPipeline, context: z.core.$RefinementCtx): void {
  const seen = new Map<string, number>();
  const called = new Map<string, number>();
  for (const [index, check] of pipeline.checks.entries()) {
    const field =
      Object.keys(check).find((key) =>
        ['measure', 'regression', 'stale_labels_above', 'forbidden_results'].includes(key),
      ) ?? 'density_drift';
    const refuse = (message: string): void => {
      context.addIssue({ code: 'custom', path: ['checks', index, field], message });
    };
    const identity = identityOf(check);
    const first = seen.get(identity);
    if (first !== undefined) refuse(`is the same check as checks[${first}]; remove one of the two`);
    seen.set(identity, first ?? index);
    for (const full of namesOf(check, pipeline.golden)) {
      const other = called.get(full) ?? index;
      if (other !== index && first === undefined)
        refuse(`has the same name "${full}" as checks[${other}]; rename one of the two`);
      called.set(full, other);
      if (pipeline.isolation.some(({ name: rule }) => isolationCheckName(rule) === full))
        refuse(
          `has the name "${full}", which is also the name of an isolation rule's check; rename the check or the rule`,
        );
    }
    if (isThreshold(check)) {
      const impossible = thresholdProblem(check, pipeline);
      if (impossible !== null) refuse(impossible);
      continue;
    }
    const measure = 'regression' in check ? check.regression : 'below' in check ? check.measure : null;
    const problem = measure === null ? null : cutoffProblem(measure, pipeline.golden);
    if (problem !== null) refuse(problem);
  }
}

/** Returns the names under which a check appears in the database and in metrics. */
function namesOf(check: CheckConfig, golden: CheckedPipeline['golden']): string[] {
  const called = check.name ?? identityOf(check);
  const isOnSets = !isThreshold(check) && !('density_drift' in check) && golden.length > 0;
  return isOnSets ? golden.map(({ set }) => `${called} on ${set}`) : [called];
}

/** Identifies a check independently of its severity and name. */
function identityOf(check: CheckConfig): string {
  if (isThreshold(check)) {
    const threshold = 'below' in check ? `below ${check.below}` : `above ${check.above}`;
    return `${check.measure} ${threshold}${check.segments === 'each' ? ' in each segment' : ''}`;
  }
  if ('below' in check) return `${check.measure} below ${check.below}`;
  if ('regression' in check) return `${check.regression} regression by ${check.drop}`;
  if ('forbidden_results' in check) return 'forbidden results';
  return 'stale_labels_above' in check ? `stale labels above ${check.stale_labels_above}` : 'density drift';
}

/** Explains why a threshold could never be evaluated; null if it can be. */
function thresholdProblem(check: ThresholdConfig, pipeline: CheckedPipeline): string | null {
  const measure = thresholdMeasure(check.measure);
  if (measure === null) return null;
  const { scope, unit } = thresholdPolicy(measure);
  const threshold = 'below' in check ? check.below : check.above;
  if (unit !== 'difference' && 'below' in check && threshold <= 0)
    return `is ${check.measure}; its threshold must be above 0`;
  if (unit === 'share' && threshold >= 1) return `is ${check.measure}, a share; its threshold must be less than 1`;
  if (scope === 'pipeline' && check.segments === 'each')
    return `is ${check.measure}, which has no segments; remove \`segments\``;
  if (scope === 'golden_sets' && pipeline.golden.length === 0)
    return `is ${check.measure}, which requires a golden set under \`golden\``;
  const k = scoreAtCutoff.exec(check.measure)?.[2];
  if (scope === 'golden_sets') return stabilityProblem(Number(k), pipeline.golden);
  if (k !== undefined && pipeline.judged === undefined) return `is ${check.measure}, which requires \`judged\``;
  if (k !== undefined && Number(k) !== pipeline.judged?.depth)
    return `is ${check.measure}, but judged.depth is ${pipeline.judged?.depth}; write ${measure}@${pipeline.judged?.depth}, or change the depth`;
  if (isOfEpisodes(measure) && pipeline.judged === undefined) return `is ${check.measure}, which requires \`judged\``;
  if (measure.startsWith('index_') && pipeline.index === undefined)
    return `is ${check.measure}, which requires \`index\``;
  const isOfStore = scope === 'pipeline' || check.measure.startsWith('query_');
  if (isOfStore && pipeline.vector_store === undefined) return `is ${check.measure}, which requires a \`vector_store\``;
  const isWatched = pipeline.density !== undefined || pipeline.checks.some((one) => 'density_drift' in one);
  if (check.measure.startsWith('query_') && !isWatched)
    return `is ${check.measure}, which requires \`density\`, or the check density_drift`;
  return null;
}

/**
 * Rejects rbo at any cutoff except the largest cutoff of each golden set, because rbo is measured only at that cutoff.
 *
 * @param k NaN for a measure without a cutoff
 */
function stabilityProblem(k: number, golden: CheckedPipeline['golden']): string | null {
  const other = Number.isNaN(k) ? undefined : golden.find(({ cutoffs }) => Math.max(...cutoffs) !== k);
  if (other === undefined) return null;
  return `is rbo@${k}, but the largest cutoff of ${other.set} is ${Math.max(...other.cutoffs)}; write rbo@${Math.max(...other.cutoffs)}, or change golden[].cutoffs`;
}

function cutoffProblem(measure: string, golden: CheckedPipeline['golden']): string | null {
  const k = readMetricKey(measure)?.k ?? null;
  if (k === null) return null;
  if (golden.length === 0) {
    if (defaultCutoffs.includes(k)) return null;
    return `is ${measure}, but golden sets that are not listed under \`golden\` are scored only at ${list(defaultCutoffs)}; list the set under \`golden\` with ${k} in its cutoffs, or use one of these cutoffs`;
  }
  const lacking = golden.find(({ cutoffs }) => !cutoffs.includes(k));
  if (lacking === undefined) return null;
  return `is ${measure}, but the golden set "${lacking.set}" is scored only at ${list(lacking.cutoffs)}; add ${k} to its cutoffs, or use one of these cutoffs`;
}

function list(cutoffs: readonly number[]): string {
  return [...new Set(cutoffs)].toSorted((a, b) => a - b).join(', ');
}
