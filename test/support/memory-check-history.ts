/** Verdicts of checks in memory, for tests of what is built on them. */
import type {
  CheckHistory,
  CheckStep,
  CheckTransition,
  StoredStanding,
  TransitionFilter,
} from '../../src/ports/check-history.ts';

export class MemoryCheckHistory implements CheckHistory {
  readonly #standings = new Map<string, StoredStanding>();
  readonly #transitions: CheckTransition[] = [];

  async standings(): Promise<readonly StoredStanding[]> {
    return [...this.#standings.values()];
  }

  async advance(steps: readonly CheckStep[]): Promise<readonly CheckStep[]> {
    return steps.filter((step) => {
      const { standing, revision, from } = step;
      const key = JSON.stringify([standing.pipeline, standing.name]);
      if ((this.#standings.get(key)?.revision ?? 0) !== revision) return false;
      this.#standings.set(key, { ...standing, revision: revision + 1 });
      const { pipeline, name: check, severity, verdict: to, since: occurredAt } = standing;
      const { threshold, value, segment, explanation } = standing;
      const id = String(this.#transitions.length + 1);
      const what = {
        pipeline,
        check,
        severity,
        from,
        to,
        occurredAt,
        threshold,
        value,
        segment,
        explanation,
      };
      if (from !== to) this.#transitions.unshift({ id, endedAt: null, ...what });
      return true;
    });
  }

  async transitions(filter: TransitionFilter): Promise<readonly CheckTransition[]> {
    const { pipeline, check, since, until, before, limit } = filter;
    return this.#transitions
      .map((one, index) => ({ ...one, endedAt: this.#nextOf(one, index)?.occurredAt ?? null }))
      .filter(
        (one) =>
          (pipeline === undefined || one.pipeline === pipeline) &&
          (check === undefined || one.check === check) &&
          (since === undefined || one.occurredAt >= since) &&
          (until === undefined || one.occurredAt < until) &&
          (before === undefined || Number(one.id) < Number(before)),
      )
      .slice(0, limit);
  }

  #nextOf({ pipeline, check }: CheckTransition, index: number): CheckTransition | undefined {
    return this.#transitions
      .slice(0, index)
      .findLast((one) => one.pipeline === pipeline && one.check === check);
  }

  /** Nothing here lives long enough. */
  async prune(): Promise<void> {}
}
