import type { ChanceGroup } from '../core/drift/coverage/equal-chance.ts';
import type { Admission } from '../core/sampling/admission.ts';

/** A live query that is to be searched in the store. */
export interface ClaimedQuery {
  /** Day of receipt (UTC), YYYY-MM-DD. */
  readonly receivedOn: string;
  readonly id: string;
  /** As it was stored; null in hash mode. */
  readonly text: string | null;
  /** As it came; null when it is to be made from the text. */
  readonly vector: Float32Array | null;
  /** How often it was taken before. */
  readonly attempts: number;
}

/** What the search of one query came to. */
export type CoverageOutcome = Pick<ClaimedQuery, 'receivedOn' | 'id'> &
  (
    | {
        readonly kind: 'measured';
        readonly score: number;
        /** `short` when the store returned fewer than k distinct chunks, else null. */
        readonly reason: 'short' | null;
        /** Ids and cosines of the k best chunks. */
        readonly nearest: readonly (readonly [string, number])[];
        /** What was searched with, when the query did not come with it. */
        readonly embedding: Float32Array | null;
      }
    | { readonly kind: 'not_measurable'; readonly reason: string }
    /** Not now: it may be taken again then. */
    | { readonly kind: 'later'; readonly reason: string; readonly dueAt: Date }
  );

export interface ClaimRequest {
  readonly pipeline: string;
  /** Of the time of receipt: inclusive, and exclusive. */
  readonly from: Date;
  readonly until: Date;
  readonly limit: number;
  readonly now: Date;
  /** From then on others may take what is not recorded. */
  readonly leaseUntil: Date;
}

/** How many of the queries that were received in a period are still to be measured. */
export interface CoverageLoad {
  /** The last decision, and until which time of receipt it holds; null before the first. */
  readonly settled: { readonly admission: Admission; readonly until: Date } | null;
  /** Queries without a row, so that nothing was decided on them. */
  readonly arrived: number;
  /** Queries that were admitted and never taken. */
  readonly admitted: number;
  /** When the oldest of either was received. */
  readonly oldest: Date | null;
}

export interface AdmissionRequest {
  readonly pipeline: string;
  /** Of the time of receipt: inclusive, and exclusive. */
  readonly from: Date;
  readonly until: Date;
  readonly now: Date;
  readonly admission: Admission;
  /** `settled.until` of the load that the decision rests on; when another was made meanwhile, it has no effect. */
  readonly settledUntil: Date | null;
}

/** How much of the live queries of a pipeline is admitted. */
export interface CoverageAdmission {
  readonly pipeline: string;
  readonly level: number;
  readonly until: Date;
  /** Number of queries that were ever left out. */
  readonly leftOut: number;
}

/** A span of time in which queries occurred: inclusive, and exclusive. */
export interface CoveragePeriod {
  readonly pipeline: string;
  readonly from: Date;
  readonly until: Date;
  /** Only what was measured since then; null for all. */
  readonly scoredSince: Date | null;
}

/** A measured query. */
export interface CoveredQuery {
  readonly id: string;
  readonly occurredAt: Date;
  /** Hash of its session, else of its trace, else of its id. */
  readonly sessionHash: string;
  readonly userHash: string | null;
  readonly segments: Readonly<Record<string, string>>;
  readonly score: number;
  readonly vector: Float32Array | null;
  readonly nearest: readonly (readonly [string, number])[];
}

export interface PeriodTally {
  /** Measured queries by their chance of being kept by the rate and measured. */
  readonly chances: readonly ChanceGroup[];
  /** Queries that have no score, by reason. */
  readonly notMeasurable: Readonly<Record<string, number>>;
  /** Taken and still to be measured. */
  readonly open: number;
  /** Never taken. */
  readonly untouched: number;
  /** When the first and the last measured query occurred. */
  readonly first: Date | null;
  readonly last: Date | null;
}

/**
 * How well the store covers sampled live queries, one row for each. Every call rejects with RecalldError
 * database_unreachable when the database does not answer.
 */
export interface QueryCoverage {
  /** What waits of the samples that were received in the time. */
  load(pipeline: string, from: Date, until: Date): Promise<CoverageLoad>;
  /**
   * Writes a decision down and carries it out: of the queries without a row the sessions whose draw is not below the
   * chance of what it had to be below are left out, the others wait with that chance. A retry and a replica leave out
   * the same ones.
   *
   * @returns how many were left out; null when another decision was made meanwhile
   */
  settle(request: AdmissionRequest): Promise<number | null>;
  admissions(): Promise<readonly CoverageAdmission[]>;
  /**
   * Takes queries that nobody else holds: the oldest first. Whatever their worker does, each has one row, and one
   * that dies keeps none from the others after its lease.
   */
  claim(request: ClaimRequest): Promise<readonly ClaimedQuery[]>;
  /** Writes what came of queries that were claimed; of those that were erased meanwhile nothing. */
  record(
    pipeline: string,
    outcomes: readonly CoverageOutcome[],
    measuring: { readonly fingerprint: string; readonly now: Date },
  ): Promise<void>;
  tally(period: CoveragePeriod): Promise<PeriodTally>;
  /** The measured queries of sessions whose draw is below `chance`, in the order of their ids, in batches. */
  read(period: CoveragePeriod, chance: number): AsyncIterable<readonly CoveredQuery[]>;
  /** Opens measured queries again, to be searched anew. @returns how many */
  reopen(
    period: CoveragePeriod,
    request: { readonly chance: number; readonly fromText: boolean; readonly now: Date },
  ): Promise<number>;
}
