import { createHash } from 'node:crypto';
import type { Config } from '../app/config/schema.ts';
import { RecalldError } from '../core/errors.ts';
import { armMeasures } from './rules/arms.ts';

export type VariantPlan = ReturnType<typeof createVariantPlans>[number];

/** Returns one plan per pipeline with `variants`. */
export function createVariantPlans(config: Config) {
  return config.pipelines.flatMap(({ name: pipeline, variants, sampling, privacy, judged }) => {
    if (variants === undefined) return [];
    const { tag, arms, since, difference } = variants;
    const identity = JSON.stringify({ tag, arms: arms.map(({ name, share }) => [name, share]), since });
    return [
      {
        pipeline,
        /** The tag whose value identifies the arm. */
        experiment: tag,
        fingerprint: createHash('sha256').update(identity).digest('hex').slice(0, 16),
        /** Start of the comparison; null to include all stored live queries. */
        since: since === null ? null : new Date(`${since}T00:00:00Z`),
        arms,
        difference,
        measures: armMeasures.filter((measure) => measure !== 'ndcg' || judged !== undefined),
        rates: { rate: sampling.rate, segments: sampling.segments },
        retentionDays: privacy.retention_days,
        /** Judging plan; null if live queries are not judged. */
        judged:
          judged === undefined
            ? null
            : ({ depth: judged.depth, by: judged.judge.kind === 'none' ? 'people' : 'model' } as const),
      },
    ];
  });
}

/** @throws RecalldError variants_unknown */
export function findVariants(plans: readonly VariantPlan[], pipeline: string): VariantPlan {
  const found = plans.find((plan) => plan.pipeline === pipeline);
  if (found !== undefined) return found;
  throw new RecalldError(
    'variants_unknown',
    `The pipeline ${pipeline} has no variants; add \`variants: {arms: [...]}\` to the pipeline.`,
  );
}
