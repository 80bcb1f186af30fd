/** Finds checks that no golden run could ever judge, and checks that cannot be told apart. */
import type { z } from 'zod';
import { type CheckConfig, readMetricKey } from './checks.ts';

interface JudgedPipeline {
  readonly golden: readonly { readonly set: string; readonly cutoffs: readonly number[] }[];
  readonly checks: readonly CheckConfig[];
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
    const field = 'regression' in check ? 'regression' : 'measure';
    const refuse = (message: string): void => {
      context.addIssue({ code: 'custom', path: ['checks', index, field], message });
    };
    if ('below' in check) {
      const name = `${check.measure} below ${check.below}`;
      const first = seen.get(name);
      if (first !== undefined) refuse(`has the same floor as checks[${first}]; remove one of the two`);
      seen.set(name, first ?? index);
    }
    const measure = 'regression' in check ? check.regression : 'below' in check ? check.measure : null;
    const problem = measure === null ? null : cutoffProblem(measure, pipeline.golden);
    if (problem !== null) refuse(problem);
  }
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
