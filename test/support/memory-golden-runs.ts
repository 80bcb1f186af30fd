/** Golden runs in memory, leases by a steerable clock. The contract of the port holds it to the real one. */

import type { ComparedWithBaseline } from '../../src/checks/rules/regression.ts';
import type { CheckResult } from '../../src/checks/rules/threshold.ts';
import type { StoredComparison } from '../../src/golden/rules/compare-golden-runs.ts';
import { nothingAccepted } from '../../src/golden/rules/compare-runs.ts';
import type { StaleLabel } from '../../src/golden/rules/labels.ts';
import type {
  AnsweredStage,
  GoldenRun,
  NewRun,
  OutcomeCounts,
  QueryAnswer,
  SegmentScore,
} from '../../src/golden/rules/run.ts';
import { type RunFailure, runFailure } from '../../src/golden/rules/run-failure.ts';
import type { Accepted } from '../../src/golden/rules/run-noise.ts';
import type { ForbiddenResult } from '../../src/golden/rules/unwanted-answers.ts';
import type { GoldenRuns } from '../../src/golden/sql/golden-runs.ts';
import type { LatestRun, LatestSentinel } from '../../src/golden/sql/latest-runs.ts';
import type { RunEnd } from '../../src/golden/sql/run-results.ts';
import type { ContextSize } from '../../src/text/context-size.ts';
import type { Clock } from '../../src/time.ts';
import { aGoldenRun } from './builders.ts';
import { MemoryGoldenSets } from './memory-golden-sets.ts';
import { wellFormed } from './well-formed.ts';

interface Entry {
  run: GoldenRun;
  end: RunEnd | null;
  lease: { readonly holder: string; readonly untilMs: number } | null;
  readonly answers: Map<string, QueryAnswer>;
}

export class MemoryGoldenRuns implements GoldenRuns {
  /** What `latest` answers: a test states the rows that it needs. */
  latestRuns: readonly LatestRun[] = [];
  /** What `latestSentinels` answers. */
  sentinels: readonly LatestSentinel[] = [];
  readonly #clock: Clock;
  readonly #sets: MemoryGoldenSets;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, sets = new MemoryGoldenSets()) {
    this.#clock = clock;
    this.#sets = sets;
  }

  /** Puts a run there as it stands, with answers that an earlier worker stored. */
  put(run: GoldenRun, answers: readonly QueryAnswer[] = []): void {
    const byQuery = new Map(answers.map((answer) => [answer.queryId, answer]));
    this.#entries.set(run.id, { run, end: null, lease: null, answers: byQuery });
  }

  /** Who holds the run now, null for nobody. */
  holderOf(runId: string): string | null {
    const lease = this.#entries.get(runId)?.lease ?? null;
    return lease !== null && lease.untilMs > this.#clock.monotonicMs() ? lease.holder : null;
  }

  /** How the run ended, null while it runs. */
  endOf(runId: string): RunEnd | null {
    return this.#entries.get(runId)?.end ?? null;
  }

  async create(run: NewRun): Promise<boolean> {
    const isTaken = [...this.#entries.values()].some(
      (other) => other.run.id === run.id || isSameTick(other.run, run) || isSecondEscalation(other.run, run),
    );
    if (isTaken) return false;
    const queriesTotal = run.queryIds?.length ?? this.#sets.queriesOf(run.goldenSet, run.goldenSetVersion).length;
    this.put({ ...run, ...aGoldenRun(run), finishedAt: null, queriesTotal });
    return true;
  }

  async hold(runId: string, holder: string, leaseSeconds: number): Promise<boolean> {
    const entry = this.#entries.get(runId);
    const other = this.holderOf(runId);
    if (entry?.run.status !== 'running' || (other !== null && other !== holder)) return false;
    entry.lease = { holder, untilMs: this.#clock.monotonicMs() + leaseSeconds * 1000 };
    return true;
  }

  async release(runId: string, holder: string): Promise<void> {
    const entry = this.#entries.get(runId);
    if (entry?.lease?.holder === holder) entry.lease = null;
  }

  async saveAnswers(runId: string, answers: readonly QueryAnswer[]): Promise<void> {
    const stored = this.#entry(runId).answers;
    for (const answer of wellFormed(answers)) if (!stored.has(answer.queryId)) stored.set(answer.queryId, answer);
  }

  async answers(runId: string): Promise<readonly QueryAnswer[]> {
    return [...this.#entry(runId).answers.values()];
  }

  async answered(runId: string, queryIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { answers } = this.#entry(runId);
    return new Set(queryIds.filter((id) => answers.has(id)));
  }

  async finish(runId: string, end: RunEnd): Promise<boolean> {
    const entry = this.#entries.get(runId);
    if (entry?.run.status !== 'running') return false;
    const checks = new Set(end.checks.map(({ name, severity }) => `${severity} ${name}`));
    if (checks.size < end.checks.length) throw new Error('duplicate check');
    const { status, reason, doubts, finishedAt } = end;
    const { labels, fingerprints, forbidden, noAnswer, stages } = end;
    const isProbed = labels?.kind === 'probed';
    entry.run = {
      ...entry.run,
      status,
      reason,
      doubts,
      finishedAt,
      fingerprints,
      noAnswer,
      stages,
      labels: {
        probed: isProbed ? labels.probed : null,
        stale: isProbed ? labels.stale : null,
        deadQueries: isProbed ? labels.dead.size : null,
        gap: labels?.kind === 'unknown' ? labels.reason : null,
      },
      forbidden:
        forbidden === null
          ? null
          : { asked: forbidden.asked, failed: forbidden.failed, unconfirmed: forbidden.unconfirmed },
    };
    entry.end = end;
    entry.lease = null;
    return true;
  }

  async contexts(runId: string): Promise<readonly ContextSize[]> {
    return [...this.#entry(runId).answers.values()].flatMap(({ context }) => context ?? []);
  }

  async stages(runId: string): Promise<ReadonlyMap<string, readonly AnsweredStage[]>> {
    const answers = [...this.#entry(runId).answers.values()];
    return new Map(
      answers.flatMap(({ queryId, stages }) => (stages === undefined ? [] : [[queryId, stages] as const])),
    );
  }

  async forbidden(runId: string): Promise<readonly ForbiddenResult[]> {
    return this.#entry(runId).end?.forbidden?.confirmed ?? [];
  }

  async find(runId: string): Promise<GoldenRun | null> {
    return this.#entries.get(runId)?.run ?? null;
  }

  async list({
    pipeline,
    goldenSet,
    version,
    status,
    purpose = 'full',
    before,
    limit,
  }: Parameters<GoldenRuns['list']>[0]): Promise<readonly GoldenRun[]> {
    return this.#runs()
      .filter((run) => pipeline === undefined || run.pipeline === pipeline)
      .filter((run) => goldenSet === undefined || run.goldenSet === goldenSet)
      .filter((run) => version === undefined || run.goldenSetVersion === version)
      .filter((run) => status === undefined || run.status === status)
      .filter((run) => run.purpose === purpose)
      .filter((run) => before === undefined || isEarlier(run, before))
      .toReversed()
      .slice(0, limit);
  }

  async scores(runId: string): Promise<readonly SegmentScore[]> {
    return this.endOf(runId)?.scores ?? [];
  }

  async checks(runId: string): Promise<readonly CheckResult[]> {
    return this.endOf(runId)?.checks ?? [];
  }

  async comparisons(runId: string): Promise<readonly StoredComparison[]> {
    return this.endOf(runId)?.comparisons ?? [];
  }

  /** Nothing is old enough here. */
  async accepted(): Promise<Accepted> {
    return nothingAccepted;
  }

  async staleLabels(runId: string): Promise<readonly StaleLabel[]> {
    const labels = this.endOf(runId)?.labels;
    return labels?.kind === 'probed' ? labels.labels : [];
  }

  async comparedWithBaseline(
    pipeline: string,
    goldenSet: string,
    upToVersion: number,
    limit: number,
  ): Promise<readonly ComparedWithBaseline[]> {
    const all = await this.list({ pipeline, goldenSet, status: 'completed', limit: 1000 });
    const completed = all
      .filter(({ goldenSetVersion }) => goldenSetVersion <= upToVersion)
      .toSorted((a, b) => b.goldenSetVersion - a.goldenSetVersion);
    return completed
      .slice(0, limit)
      .toReversed()
      .flatMap(({ id }) => {
        const baseline = this.endOf(id)?.comparisons.find(({ kind }) => kind === 'baseline');
        if (baseline === undefined) return [];
        const metrics = baseline.differences.filter(({ segment }) => segment === 'all');
        return [{ runId: id, baselineRunId: baseline.against, metrics }];
      });
  }

  async outcomes(runId: string): Promise<OutcomeCounts> {
    const counts = { ok: 0, empty: 0, error: 0, timeout: 0 };
    for (const answer of this.#entry(runId).answers.values()) counts[answer.outcome] += 1;
    return counts;
  }

  async failure(runId: string): Promise<RunFailure | null> {
    return runFailure([...this.#entry(runId).answers.values()]);
  }

  async abandoned(): Promise<readonly GoldenRun[]> {
    return this.#runs().filter((run) => run.status === 'running' && this.holderOf(run.id) === null);
  }

  async latest(): Promise<readonly LatestRun[]> {
    return this.latestRuns;
  }

  async latency95(runId: string): Promise<number | null> {
    const latencies = [...this.#entry(runId).answers.values()]
      .filter(({ outcome }) => outcome === 'ok' || outcome === 'empty')
      .flatMap(({ latencyMs }) => latencyMs ?? [])
      .toSorted((a, b) => a - b);
    return latencies[Math.ceil(0.95 * latencies.length) - 1] ?? null;
  }

  async latestSentinels(): Promise<readonly LatestSentinel[]> {
    return this.sentinels;
  }

  async pruneSentinels(before: Date): Promise<void> {
    for (const { id, purpose, startedAt, status } of this.#runs())
      if (purpose === 'sentinel' && status !== 'running' && startedAt < before) this.#entries.delete(id);
  }

  /** Oldest first; those of the same time by their ids. */
  #runs(): GoldenRun[] {
    return [...this.#entries.values()]
      .map(({ run }) => run)
      .toSorted((a, b) => a.startedAt.getTime() - b.startedAt.getTime() || (a.id < b.id ? -1 : 1));
  }

  #entry(runId: string): Entry {
    const entry = this.#entries.get(runId);
    if (entry === undefined) throw new Error(`there is no run ${runId}`);
    return entry;
  }
}

function isSameTick(a: NewRun, b: NewRun): boolean {
  const isTick = a.scheduledFor !== null && a.scheduledFor.getTime() === b.scheduledFor?.getTime();
  return (
    isTick &&
    a.pipeline === b.pipeline &&
    a.goldenSet === b.goldenSet &&
    a.purpose === b.purpose &&
    a.goldenSetVersion === b.goldenSetVersion
  );
}

function isEarlier(a: GoldenRun, b: GoldenRun): boolean {
  const ms = a.startedAt.getTime() - b.startedAt.getTime();
  return ms < 0 || (ms === 0 && a.id < b.id);
}

function isSecondEscalation(a: GoldenRun, b: NewRun): boolean {
  const areEscalations = a.trigger === 'sentinel' && b.trigger === 'sentinel' && a.status === 'running';
  return areEscalations && a.pipeline === b.pipeline && a.goldenSet === b.goldenSet;
}
