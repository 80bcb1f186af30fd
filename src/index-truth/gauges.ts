/** What rounds over an index found -> samples of gauges. What is too old to trust is withheld. */
import { type MeasuredRows, valueSamples } from '../measures/gauges.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import { type GaugeSample, type GaugesAt, sample } from '../metrics/meter.ts';
import { ALL_SEGMENT } from '../model.ts';
import { indexMeasureNames, isTooOld, shareOfKind } from './measure-index.ts';
import type { IndexPlan } from './plan.ts';
import type { RoundsTable } from './rounds-table.ts';
import { findingKinds } from './rules/findings.ts';

interface IndexGaugesDeps {
  readonly indexRounds: Pick<RoundsTable, 'standings'>;
  /** Of the pipelines whose config has `index`; what is stored of others is left out. */
  readonly plans: readonly Pick<IndexPlan, 'pipeline' | 'lateAfterMs'>[];
}

export async function readIndexGauges(
  { indexRounds, plans }: IndexGaugesDeps,
  { measurements }: MeasuredRows,
): Promise<GaugesAt> {
  const pipelines = plans.map(({ pipeline }) => pipeline);
  if (pipelines.length === 0) return () => [];
  const own = measurements.filter(
    ({ pipeline, measure }) => pipelines.includes(pipeline) && indexMeasureNames.includes(measure),
  );
  const standings = (await indexRounds.standings()).filter(({ pipeline }) => pipelines.includes(pipeline));
  const late = plans.map(({ pipeline, lateAfterMs }) =>
    sample('recalld_index_late_after_seconds', { pipeline }, lateAfterMs / 1000),
  );
  return (now) => [
    ...late,
    ...own.flatMap((one) =>
      one.gap !== null || isTooOld(one, now) ? [] : [...valueSamples(one), ...findingSamples(one)],
    ),
    ...standings.flatMap(({ pipeline, endedAt, documents }): GaugeSample[] => [
      ...(documents === null ? [] : [sample('recalld_index_documents', { pipeline }, documents)]),
      ...(endedAt === null
        ? []
        : [sample('recalld_index_check_last_success_timestamp_seconds', { pipeline }, endedAt.getTime() / 1000)]),
    ]),
  ];
}

function findingSamples({ pipeline, segment, measure, newest }: LatestMeasurement): GaugeSample[] {
  const kind = findingKinds.find((one) => shareOfKind[one].measure === measure);
  if (kind === undefined || segment !== ALL_SEGMENT || newest === null) return [];
  return [sample('recalld_index_findings', { pipeline, kind }, Number(newest.details['known'] ?? 0))];
}
