/** Measurements in memory, for tests of what is built on them. The contract of the port holds it to the real one. */

import type { LatestMeasurement, Measurements } from '../../src/measures/measurements.ts';
import {
  checkMeasurement,
  type Measurement,
  type MeasurementGap,
  type MeasurementOutcome,
  type MeasurementSeries,
} from '../../src/measures/rules/measurement.ts';

export class MemoryMeasurements implements Measurements {
  readonly #values = new Map<string, Measurement>();
  readonly #gaps = new Map<string, MeasurementGap>();
  /** Names of the calls of its upkeep with their arguments, in their order. */
  readonly upkeep: (readonly [string, Date])[] = [];

  async record(outcomes: readonly MeasurementOutcome[]): Promise<void> {
    for (const outcome of outcomes) checkMeasurement(outcome);
    for (const outcome of outcomes) {
      if (outcome.kind === 'value') this.#put(outcome);
      else this.#note(outcome);
    }
  }

  #put(value: Measurement): void {
    const key = JSON.stringify([seriesKey(value), value.windowEnd.getTime()]);
    const known = this.#values.get(key);
    if (known === undefined || value.measuredAt >= known.measuredAt) this.#values.set(key, value);
  }

  #note(gap: MeasurementGap): void {
    const key = seriesKey(gap);
    const known = this.#gaps.get(key);
    if (known === undefined || gap.windowEnd >= known.windowEnd) this.#gaps.set(key, gap);
  }

  async latest(now: Date): Promise<readonly LatestMeasurement[]> {
    const all = [...this.#values.values(), ...this.#gaps.values()];
    const keys = [...new Set(all.map(seriesKey))].toSorted((a, b) => (a < b ? -1 : 1));
    return keys.map((key) => {
      const newest = this.#ofSeries(key).at(-1) ?? null;
      const known = this.#gaps.get(key) ?? null;
      const gap = known !== null && newest !== null && newest.windowEnd >= known.windowEnd ? null : known;
      const { pipeline, measure, segment } = (newest ?? gap) as MeasurementSeries;
      return { pipeline, measure, segment, newest: aged(newest, now), gap: aged(gap, now) };
    });
  }

  async series(series: MeasurementSeries, from: Date, until: Date): Promise<readonly Measurement[]> {
    return this.#ofSeries(seriesKey(series)).filter(({ windowEnd }) => windowEnd >= from && windowEnd < until);
  }

  async createPartitions(now: Date): Promise<void> {
    this.upkeep.push(['createPartitions', now]);
  }

  async prune(before: Date): Promise<void> {
    this.upkeep.push(['prune', before]);
  }

  #ofSeries(key: string): Measurement[] {
    return [...this.#values.values()]
      .filter((value) => seriesKey(value) === key)
      .toSorted((a, b) => a.windowEnd.getTime() - b.windowEnd.getTime());
  }
}

function seriesKey({ pipeline, measure, segment }: MeasurementSeries): string {
  return JSON.stringify([pipeline, measure, segment]);
}

function aged<Outcome extends MeasurementOutcome>(
  outcome: Outcome | null,
  now: Date,
): (Outcome & { readonly ageSeconds: number }) | null {
  return outcome === null ? null : { ...outcome, ageSeconds: (now.getTime() - outcome.measuredAt.getTime()) / 1000 };
}
