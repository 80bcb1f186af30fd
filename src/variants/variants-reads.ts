/** What is known of the variants of a pipeline, for commands, routes and pages. */
import { RecalldError } from '../errors.ts';
import type { VariantPlan } from './plan.ts';
import { compareArms, type VariantComparison } from './rules/compare-arms.ts';
import type { VariantDaysTable } from './variant-days-table.ts';

export interface ReadVariantsDeps {
  readonly variantDays: Pick<VariantDaysTable, 'list'>;
  readonly variantPlans: readonly VariantPlan[];
}

export interface VariantReport extends VariantComparison {
  readonly plan: VariantPlan;
  /** First day with a session, and last day that was summed, YYYY-MM-DD; null before there is one. */
  readonly days: { readonly first: string; readonly last: string } | null;
  /** Sessions that saw more than one arm, and those with a value of the tag that is none. */
  readonly mixed: number;
  readonly unnamed: number;
}

export async function readVariants(
  { variantDays }: Pick<ReadVariantsDeps, 'variantDays'>,
  plan: VariantPlan,
): Promise<VariantReport> {
  const days = await variantDays.list(plan);
  const first = days.find(
    ({ arms, mixed, unnamed }) =>
      mixed + unnamed > 0 || Object.values(arms).some(({ measures }) => Object.keys(measures).length > 0),
  );
  const last = days.at(-1);
  return {
    ...compareArms(days, plan),
    plan,
    days: first === undefined || last === undefined ? null : { first: first.day, last: last.day },
    mixed: days.reduce((sum, { mixed }) => sum + mixed, 0),
    unnamed: days.reduce((sum, { unnamed }) => sum + unnamed, 0),
  };
}

/** @throws RecalldError variants_unknown */
export function findVariants(plans: readonly VariantPlan[], pipeline: string): VariantPlan {
  const found = plans.find((plan) => plan.pipeline === pipeline);
  if (found !== undefined) return found;
  throw new RecalldError(
    'variants_unknown',
    `The pipeline ${pipeline} compares no variants; name them under \`variants: {arms: [...]}\` of the pipeline.`,
  );
}
