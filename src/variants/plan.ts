/** How the variants of a pipeline are compared, and what that works with. */
import { createHash } from 'node:crypto';
import type { Config } from '../app/config/schema.ts';
import type { Clock } from '../clock.ts';
import type { JudgedTable } from '../judging/judged-table.ts';
import type { SamplingPolicy } from '../live/rules/sampling/decision.ts';
import type { LiveWindows } from '../live/sql/live-windows.ts';
import type { VariantDesign } from './rules/compare-arms.ts';
import { variantMeasures } from './rules/measures.ts';
import type { VariantDaysTable } from './variant-days-table.ts';

export interface VariantPlan extends VariantDesign {
  readonly pipeline: string;
  readonly tag: string;
  /** Names the tag, the arms and the start; days of another are no part of it. */
  readonly comparison: string;
  /** Null: as far back as live queries are kept. */
  readonly since: Date | null;
  readonly rates: SamplingPolicy['rates'];
  readonly retentionDays: number;
  /** Null where live queries are not graded. */
  readonly judged: { readonly depth: number; readonly by: 'model' | 'people' } | null;
}

export interface VariantDeps {
  readonly windows: Pick<LiveWindows, 'count' | 'queries' | 'clicks' | 'opinions'>;
  readonly judged: Pick<JudgedTable, 'graded'>;
  readonly variantDays: VariantDaysTable;
  readonly clock: Clock;
  readonly measurementRetentionDays: number;
}

/** Of the pipelines whose config has `variants`. */
export function createVariantPlans(config: Config): VariantPlan[] {
  return config.pipelines.flatMap(({ name, variants, sampling, privacy, judged }) => {
    if (variants === undefined) return [];
    const { tag, arms, since, difference } = variants;
    const identity = JSON.stringify({ tag, arms: arms.map(({ name, share }) => [name, share]), since });
    return [
      {
        pipeline: name,
        tag,
        comparison: createHash('sha256').update(identity).digest('hex').slice(0, 16),
        since: since === null ? null : new Date(`${since}T00:00:00Z`),
        arms,
        difference,
        measures: variantMeasures.filter((measure) => measure !== 'relevance' || judged !== undefined),
        rates: { rate: sampling.rate, segments: sampling.segments },
        retentionDays: privacy.retention_days,
        judged:
          judged === undefined ? null : { depth: judged.depth, by: judged.judge.kind === 'none' ? 'people' : 'model' },
      },
    ];
  });
}
