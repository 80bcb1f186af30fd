/** The limits of retrievers in memory, by a steerable clock. */

import { shareOf } from '../../src/golden/rules/retriever-pace.ts';
import type { AskerState, RetrieverLimits, RetrieverShare } from '../../src/golden/sql/retriever-limits.ts';
import type { Clock } from '../../src/time.ts';

interface Asker {
  readonly slots: number;
  readonly failures: number;
  readonly untilMs: number;
}

export class MemoryRetrieverLimits implements RetrieverLimits {
  readonly #clock: Clock;
  readonly #askers = new Map<string, Map<string, Asker>>();
  readonly #next = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async share(
    pipeline: string,
    holder: string,
    { concurrency, using, failuresInARow }: AskerState,
    leaseSeconds: number,
  ): Promise<RetrieverShare> {
    const now = this.#clock.monotonicMs();
    const askers = this.#askers.get(pipeline) ?? new Map<string, Asker>();
    this.#askers.set(pipeline, askers);
    const others = [...askers].filter(([name, { untilMs }]) => name !== holder && untilMs >= now);
    const { slots, counted } = shareOf({
      concurrency,
      using,
      others: others.map(([, asker]) => asker.slots),
      rank: others.filter(([name]) => name < holder).length,
    });
    askers.set(holder, { slots: counted, failures: failuresInARow, untilMs: now + leaseSeconds * 1000 });
    return { slots, failuresElsewhere: others.reduce((sum, [, { failures }]) => sum + failures, 0) };
  }

  async leave(pipeline: string, holder: string): Promise<void> {
    this.#askers.get(pipeline)?.delete(holder);
  }

  async reserve(pipeline: string, turns: number, perSecond: number): Promise<number> {
    const now = this.#clock.monotonicMs();
    const start = Math.max(now, this.#next.get(pipeline) ?? now);
    this.#next.set(pipeline, start + (turns * 1000) / perSecond);
    return start - now;
  }
}
