/** The live queries of a window that is over, held against the baseline. */
import type { WindowSpan } from '../../core/drift/coverage/evidence-windows.ts';
import type { WindowMeasurement } from '../../core/drift/coverage/measure-window.ts';
import { windowTotals } from '../../core/drift/coverage/pooled-density.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DensityCompute } from '../../ports/density-compute.ts';
import type { ClosedWindow } from '../../ports/density-states.ts';
import { type ReadTrafficDeps, readTraffic, type Traffic } from './read-traffic.ts';
import type { DensityReference } from './reference.ts';
import { segmentTotals } from './segment-totals.ts';

export interface MeasureClosedDeps extends ReadTrafficDeps {
  readonly compute: DensityCompute;
  readonly clock: Clock;
}

export interface MeasuredWindow {
  readonly closed: ClosedWindow;
  readonly measurement: WindowMeasurement;
  readonly traffic: Traffic;
}

/** A window with more is known well enough from so many. */
const MOST_QUERIES = 20_000;

/** Measures the window as it is stored now. It writes nothing, and the same samples give the same measurement. */
export async function measureClosed(
  deps: MeasureClosedDeps,
  { plan, stored: { baseline, version }, scoredSince }: DensityReference,
  { startMs, endMs }: WindowSpan,
  signal: AbortSignal,
): Promise<MeasuredWindow> {
  // What is scored while this reads is late, and looked for from here on.
  const measuredMs = deps.clock.now().getTime();
  const period = { pipeline: plan.pipeline, from: new Date(startMs), until: new Date(endMs), scoredSince };
  const columns = baseline.regions.count === 0 ? null : baseline.regions.columns;
  const traffic = await readTraffic(deps, period, { most: MOST_QUERIES, columns }, signal);
  const { regions, scores } = baseline;
  const measurement = await deps.compute.measureWindow(
    { queries: traffic.queries, vectors: traffic.vectors },
    { regions, scores },
    signal,
  );
  const totals = windowTotals({ startMs, endMs }, measurement.means);
  const segments = segmentTotals(measurement, traffic, plan);
  return {
    closed: { startMs, endMs, measuredMs, baselineVersion: version, totals, segments },
    measurement,
    traffic,
  };
}
