/** Finds checks that no golden run could ever judge, and checks that cannot be told apart. */
import type { z } from 'zod';
import { watchedMeasures } from '../../core/checks/watched-measures.ts';
import { type CheckConfig, isThreshold, readMetricKey, type ThresholdConfig } from './checks.ts';

interface JudgedPipeline {
  readonly golden: readonly { readonly set: string; readonly cutoffs: readonly number[] }[];
  readonly checks: readonly CheckConfig[];
  readonly vector_store?: unknown;
  readonly density?: unknown;
}

/** What a golden set is scored at that is run by hand and not named in the config. */
export const defaultCutoffs: readonly number[] = [1, 3, 5, 10];

/**
 * A check is judged on every golden set of its pipeline. Where a set is not scored at the cut-off of the check, the
 * verdict would be `no_data` for ever, so it is refused here, with the cut-off to add.
 */
export function refuseUnjudgeableChecks(pipeline: JudgedPipeline, context: z.core.$RefinementCtx): void {
  const seen = new Map<string, number>();
  for (const [index, check] of pipeline.checks.entries()) {
    const field =
      Object.keys(check).find((key) => ['measure', 'regression', 'stale_labels_above'].includes(key)) ??
      'density_drift';
    const refuse = (message: string): void => {
      context.addIssue({ code: 'custom', path: ['checks', index, field], message });
    };
    const name = identityOf(check);
    const first = seen.get(name);
    if (first !== undefined) refuse(`expects the same as checks[${first}]; remove one of the two`);
    seen.set(name, first ?? index);
    if (isThreshold(check)) {
      const unjudgeable = thresholdProblem(check, pipeline);
      if (unjudgeable !== null) refuse(unjudgeable);
      continue;
    }
    const measure = 'regression' in check ? check.regression : 'below' in check ? check.measure : null;
    const problem = measure === null ? null : cutoffProblem(measure, pipeline.golden);
    if (problem !== null) refuse(problem);
  }
}

/** What tells the verdicts of checks apart; severity does not. */
function identityOf(check: CheckConfig): string {
  if (isThreshold(check)) {
    const threshold = 'below' in check ? `below ${check.below}` : `above ${check.above}`;
    return `${check.measure} ${threshold} ${check.segments}`;
  }
  if ('below' in check) return `${check.measure} below ${check.below}`;
  if ('regression' in check) return `${check.regression} regression by ${check.drop}`;
  return 'stale_labels_above' in check ? `stale labels above ${check.stale_labels_above}` : 'density drift';
}

/** Why no measurement could ever judge it; null when one can. */
function thresholdProblem(check: ThresholdConfig, pipeline: JudgedPipeline): string | null {
  const { of, unit } = watchedMeasures[check.measure];
  const threshold = 'below' in check ? check.below : check.above;
  if (unit === 'share' && threshold >= 1)
    return `is ${check.measure}, a share, so that its threshold must be less than 1`;
  if (of === 'pipeline' && check.segments === 'each')
    return `is ${check.measure}, which has no segments; leave \`segments\` out`;
  if (of === 'golden_sets' && pipeline.golden.length === 0)
    return `is ${check.measure}, which needs a golden set under \`golden\``;
  const isOfStore = of === 'pipeline' || check.measure.startsWith('query_');
  if (isOfStore && pipeline.vector_store === undefined)
    return `is ${check.measure}, which needs a \`vector_store\``;
  const isWatched = pipeline.density !== undefined || pipeline.checks.some((one) => 'density_drift' in one);
  if (check.measure.startsWith('query_') && !isWatched)
    return `is ${check.measure}, which needs \`density\`, or the check density_drift`;
  return null;
}

function cutoffProblem(measure: string, golden: JudgedPipeline['golden']): string | null {
  const k = readMetricKey(measure)?.k ?? null;
  if (k === null) return null;
  if (golden.length === 0) {
    if (defaultCutoffs.includes(k)) return null;
    return `is ${measure}, but a golden set that is not under \`golden\` is scored at ${list(defaultCutoffs)} only; add the set under \`golden\` with ${k} among its cutoffs, or use one of these`;
  }
  const lacking = golden.find(({ cutoffs }) => !cutoffs.includes(k));
  if (lacking === undefined) return null;
  return `is ${measure}, but the golden set "${lacking.set}" is scored at ${list(lacking.cutoffs)} only; add ${k} to its cutoffs, or use one of these`;
}

function list(cutoffs: readonly number[]): string {
  return [...new Set(cutoffs)].toSorted((a, b) => a - b).join(', ');
}
