/** Samples in memory, for tests of what measures them. */

import type { Click } from '../../src/live/rules/feedback/click-rates.ts';
import type { LiveWindow, LiveWindows, WindowQuery } from '../../src/live/sql/live-windows.ts';

const BATCH = 100;

export class MemoryLiveWindows implements LiveWindows {
  /** Samples as their draw kept them: `cluster` is below `rateProbability`, or `probability` is 1. */
  readonly queriesOf = new Map<string, WindowQuery[]>();
  readonly clicksOf = new Map<string, Click[]>();
  /** Names of pipelines whose samples cannot be read. */
  readonly broken = new Set<string>();
  /** Windows that were read, with the halvings. */
  readonly readings: (readonly [LiveWindow, number])[] = [];

  async count(window: LiveWindow): Promise<number> {
    if (this.broken.has(window.pipeline)) throw new Error(`${window.pipeline} cannot be read`);
    return this.#within(window).length;
  }

  /** Nothing was counted, so that weights stay as they are. */
  async arrivals() {
    return {};
  }

  async *queries(window: LiveWindow, halvings: number): AsyncIterable<readonly WindowQuery[]> {
    this.readings.push([window, halvings]);
    const factor = 2 ** -halvings;
    const kept = this.#within(window)
      .filter(
        ({ cluster, probability, rateProbability }) =>
          Number(cluster) < factor * (probability === 1 ? 1 : rateProbability),
      )
      .map((query) => ({ ...query, probability: query.probability * factor }));
    for (let start = 0; start < kept.length; start += BATCH) yield kept.slice(start, start + BATCH);
  }

  async clicks(pipeline: string, queryIds: readonly string[]): Promise<readonly Click[]> {
    const ids = new Set(queryIds);
    return (this.clicksOf.get(pipeline) ?? []).filter(({ queryId }) => ids.has(queryId));
  }

  async hasClicks(pipeline: string): Promise<boolean> {
    return (this.clicksOf.get(pipeline) ?? []).length > 0;
  }

  /** Nobody said anything. */
  async opinions() {
    return new Map();
  }

  #within({ pipeline, from, until }: LiveWindow): WindowQuery[] {
    return (this.queriesOf.get(pipeline) ?? []).filter(({ occurredAt }) => occurredAt >= from && occurredAt < until);
  }
}
