/** The traffic of a window by segment. */
import type { WindowMeasurement } from '../../core/drift/coverage/measure-window.ts';
import { type CoverageTotals, coverageTotals } from '../../core/drift/coverage/pooled-coverage.ts';
import { queryDensity } from '../../core/drift/coverage/query-density.ts';
import { OTHER_SEGMENT } from '../../core/golden/segments.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import type { DensityPlan } from './plan.ts';
import type { Traffic } from './read-traffic.ts';

/** Totals of all traffic, of each value of the segment keys, the most frequent first, and of the rest as one. */
export function segmentTotals(
  { queries, density }: WindowMeasurement,
  { covered }: Traffic,
  { segmentKeys, maxSegments }: Pick<DensityPlan, 'segmentKeys' | 'maxSegments'>,
): Readonly<Record<string, CoverageTotals>> {
  const totals: Record<string, CoverageTotals> =
    density === null ? {} : { [ALL_SEGMENT]: coverageTotals(density) };
  const segmentsOf = new Map(covered.map(({ id, segments }) => [id, segments]));
  const members = new Map<string, (typeof queries)[number][]>();
  for (const query of queries) {
    const tags = segmentsOf.get(query.id) ?? {};
    for (const key of segmentKeys) {
      const value = tags[key];
      if (value === undefined) continue;
      const name = `${key}=${value}`;
      const own = members.get(name);
      if (own === undefined) members.set(name, [query]);
      else own.push(query);
    }
  }
  const ordered = [...members].toSorted(([a, m], [b, n]) => n.length - m.length || (a < b ? -1 : 1));
  const rest = ordered.slice(maxSegments).flatMap(([, own]) => own);
  const shown = [
    ...ordered.slice(0, maxSegments),
    ...(rest.length === 0 ? [] : [[OTHER_SEGMENT, rest] as const]),
  ];
  for (const [name, own] of shown) {
    const found = queryDensity(
      Float64Array.from(own, ({ percentile }) => percentile),
      Float64Array.from(own, ({ surprise }) => surprise),
      own.map(({ region }) => region),
      own.map(({ sessionNumber }) => sessionNumber),
    );
    if (found !== null) totals[name] = coverageTotals(found);
  }
  return totals;
}
