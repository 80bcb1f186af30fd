/** Golden runs in memory with leases by a steerable clock, for tests of what is built on them. */
import type { CheckResult } from '../../src/core/checks/floor.ts';
import type { OutcomeCounts, QueryAnswer, SegmentScore } from '../../src/core/golden/run.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { GoldenRun, GoldenRuns, LatestRun, NewRun, RunEnd } from '../../src/ports/golden-runs.ts';

interface Entry {
  run: GoldenRun;
  end: RunEnd | null;
  lease: { readonly holder: string; readonly untilMs: number } | null;
  readonly answers: Map<string, QueryAnswer>;
}

export class MemoryGoldenRuns implements GoldenRuns {
  /** What `latest` answers: its rows are made by the database, not by us. */
  latestRuns: readonly LatestRun[] = [];
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Puts a run there as it stands, with answers that an earlier worker stored. */
  put(run: GoldenRun, answers: readonly QueryAnswer[] = []): void {
    const byQuery = new Map(answers.map((answer) => [answer.queryId, answer]));
    this.#entries.set(run.id, { run, end: null, lease: null, answers: byQuery });
  }

  /** Who holds the run now, null for nobody. */
  holderOf(runId: string): string | null {
    const { lease } = this.#entry(runId);
    return lease !== null && lease.untilMs > this.#clock.monotonicMs() ? lease.holder : null;
  }

  /** How the run ended, null while it runs. */
  endOf(runId: string): RunEnd | null {
    return this.#entry(runId).end;
  }

  create(run: NewRun): Promise<boolean> {
    const isTaken = [...this.#entries.values()].some(
      (other) =>
        other.run.id === run.id ||
        (run.scheduledFor !== null &&
          other.run.pipeline === run.pipeline &&
          other.run.goldenSet === run.goldenSet &&
          other.run.scheduledFor?.getTime() === run.scheduledFor.getTime()),
    );
    if (!isTaken) this.put({ ...run, status: 'running', finishedAt: null, queriesTotal: 0, reason: null });
    return Promise.resolve(!isTaken);
  }

  hold(runId: string, holder: string, leaseSeconds: number): Promise<boolean> {
    const entry = this.#entry(runId);
    const other = this.holderOf(runId);
    if (entry.run.status !== 'running' || (other !== null && other !== holder)) return Promise.resolve(false);
    entry.lease = { holder, untilMs: this.#clock.monotonicMs() + leaseSeconds * 1000 };
    return Promise.resolve(true);
  }

  release(runId: string, holder: string): Promise<void> {
    const entry = this.#entry(runId);
    if (entry.lease?.holder === holder) entry.lease = null;
    return Promise.resolve();
  }

  saveAnswers(runId: string, answers: readonly QueryAnswer[]): Promise<void> {
    const stored = this.#entry(runId).answers;
    for (const answer of answers) if (!stored.has(answer.queryId)) stored.set(answer.queryId, answer);
    return Promise.resolve();
  }

  answers(runId: string): Promise<readonly QueryAnswer[]> {
    return Promise.resolve([...this.#entry(runId).answers.values()]);
  }

  finish(runId: string, end: RunEnd): Promise<boolean> {
    const entry = this.#entry(runId);
    if (entry.run.status !== 'running') return Promise.resolve(false);
    entry.run = { ...entry.run, status: end.status, reason: end.reason, finishedAt: end.finishedAt };
    entry.end = end;
    entry.lease = null;
    return Promise.resolve(true);
  }

  find(runId: string): Promise<GoldenRun | null> {
    return Promise.resolve(this.#entries.get(runId)?.run ?? null);
  }

  list(filter: {
    readonly pipeline?: string;
    readonly goldenSet?: string;
    readonly limit: number;
  }): Promise<readonly GoldenRun[]> {
    const runs = [...this.#entries.values()]
      .map(({ run }) => run)
      .filter(({ pipeline }) => filter.pipeline === undefined || pipeline === filter.pipeline)
      .filter(({ goldenSet }) => filter.goldenSet === undefined || goldenSet === filter.goldenSet)
      .toSorted((a, b) => b.startedAt.getTime() - a.startedAt.getTime());
    return Promise.resolve(runs.slice(0, filter.limit));
  }

  scores(runId: string): Promise<readonly SegmentScore[]> {
    return Promise.resolve(this.#entry(runId).end?.scores ?? []);
  }

  checks(runId: string): Promise<readonly CheckResult[]> {
    return Promise.resolve(this.#entry(runId).end?.checks ?? []);
  }

  outcomes(runId: string): Promise<OutcomeCounts> {
    const counts = { ok: 0, empty: 0, error: 0, timeout: 0 };
    for (const answer of this.#entry(runId).answers.values()) counts[answer.outcome] += 1;
    return Promise.resolve(counts);
  }

  abandoned(): Promise<readonly GoldenRun[]> {
    const runs = [...this.#entries.values()].map(({ run }) => run);
    return Promise.resolve(runs.filter((run) => run.status === 'running' && this.holderOf(run.id) === null));
  }

  latest(): Promise<readonly LatestRun[]> {
    return Promise.resolve(this.latestRuns);
  }

  #entry(runId: string): Entry {
    const entry = this.#entries.get(runId);
    if (entry === undefined) throw new Error(`there is no run ${runId}`);
    return entry;
  }
}
