/** Results of a soak test, and its final tables. */
import type { GoldenLedger, Reconciled } from '../../test/support/reconcile.ts';
import type { Provenance } from '../result-file.ts';

export interface LatencyRow {
  readonly what: string;
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface MemoryRow {
  readonly role: string;
  /** Resident set size in MB of a process that was never killed, after a quarter of the soak. */
  readonly startMb: number;
  /** Resident set size in MB of the process that was never killed, at the end of the soak. */
  readonly endMb: number;
}

export interface SoakResult {
  readonly provenance: Omit<Provenance, 'seed'> & { readonly seed: number };
  readonly queue: 'postgres' | 'redis';
  readonly minutes: number;
  /** Number of times that each process was killed and restarted. */
  readonly kills: Readonly<Record<string, number>>;
  readonly queries: Reconciled;
  readonly feedback: Reconciled;
  /** Number of live queries, as the sum of the stored counts per minute. */
  readonly counted: number;
  readonly golden: GoldenLedger & {
    /** Number of runs for which a POST returned 202. */
    readonly requested: number;
    /** Number of runs that are missing although a POST returned 202. */
    readonly requestedLost: number;
  };
  readonly latency: readonly LatencyRow[];
  readonly memory: readonly MemoryRow[];
  /**
   * Number of refused requests that the client retries, keyed by HTTP status; the key 0 stands for requests without a
   * response.
   */
  readonly refusals: Readonly<Record<string, number>>;
}

/** True if nothing was lost, counted twice or left unprocessed. */
export function holds({ queries, feedback, counted, golden }: SoakResult): boolean {
  const bad = [
    queries.lost,
    queries.duplicated,
    feedback.lost,
    feedback.duplicated,
    counted - queries.stored,
    golden.running,
    golden.ticksTwice,
    golden.incomplete,
    golden.withoutScores,
    golden.requestedLost,
  ];
  return bad.every((count) => count === 0);
}

export function latencyRow(what: string, latenciesMs: readonly number[]): LatencyRow {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const at = (share: number): number => rounded(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return { what, requests: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99) };
}

export const ledgerHead = ['', 'accepted', 'stored', 'processed', 'lost', 'duplicated'] as const;

/**
 * A golden run counts as accepted when a tick or a POST has created it, and as processed when every query has a result.
 */
export function ledgerRows({ queries, feedback, counted, golden }: SoakResult): string[][] {
  return [
    ['live queries', queries.accepted, queries.stored, counted, queries.lost, queries.duplicated],
    ['feedback', feedback.accepted, feedback.stored, feedback.stored, feedback.lost, feedback.duplicated],
    [
      'golden runs',
      golden.runs,
      golden.runs,
      golden.completed,
      golden.requestedLost + golden.incomplete + golden.running + golden.withoutScores,
      golden.ticksTwice,
    ],
  ].map((row) => row.map(String));
}

export function latencyRows({ latency }: SoakResult): string[][] {
  return latency.map(({ what, requests, p50Ms, p99Ms }) => [what, `${requests}`, `${p50Ms}`, `${p99Ms}`]);
}

export function memoryRows({ memory }: SoakResult): string[][] {
  return memory.map(({ role, startMb, endMb }) => [role, `${startMb}`, `${endMb}`]);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
