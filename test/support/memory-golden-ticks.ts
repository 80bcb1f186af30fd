/** What became of ticks, in memory; the runs of a tick are those of the memory store. */
import type { GoldenRuns } from '../../src/golden/sql/golden-runs.ts';
import type { GoldenTicks, SkipReason, SkipTotal, TickSeries } from '../../src/golden/sql/golden-ticks.ts';

interface Skip extends TickSeries {
  readonly plannedFor: Date;
  readonly reason: SkipReason;
}

export class MemoryGoldenTicks implements GoldenTicks {
  readonly noted: Skip[] = [];
  readonly #runs: GoldenRuns;

  constructor(runs: GoldenRuns) {
    this.#runs = runs;
  }

  async last(series: TickSeries): Promise<Date | null> {
    const runs = await this.#runs.list({ ...series, limit: 1000 });
    const skipped = this.noted.filter((skip) => isSame(skip, series)).map(({ plannedFor }) => plannedFor);
    const planned = [...runs.flatMap(({ scheduledFor }) => scheduledFor ?? []), ...skipped];
    return planned.toSorted((a, b) => b.getTime() - a.getTime())[0] ?? null;
  }

  async skip(series: TickSeries, plannedFor: readonly Date[], reason: SkipReason): Promise<void> {
    for (const at of plannedFor) {
      const isKnown = this.noted.some((skip) => isSame(skip, series) && skip.plannedFor.getTime() === at.getTime());
      if (!isKnown) this.noted.push({ ...series, plannedFor: at, reason });
    }
  }

  async skipTotals(): Promise<readonly SkipTotal[]> {
    return this.noted.map(({ pipeline, goldenSet, purpose, reason }) => ({
      pipeline,
      goldenSet,
      purpose,
      reason,
      total: 1,
    }));
  }

  async queriesSince(pipeline: string, goldenSet: string, since: Date): Promise<number> {
    const kinds = await Promise.all(
      (['full', 'sentinel'] as const).map((purpose) => this.#runs.list({ pipeline, goldenSet, purpose, limit: 1000 })),
    );
    return kinds
      .flat()
      .filter(({ startedAt }) => startedAt >= since)
      .reduce((sum, run) => sum + run.queriesTotal, 0);
  }
}

function isSame(a: TickSeries, b: TickSeries): boolean {
  return a.pipeline === b.pipeline && a.goldenSet === b.goldenSet && a.purpose === b.purpose;
}
