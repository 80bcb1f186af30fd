import type { GoldenQuery } from '../../model.ts';

/** Who asks the questions of a set; the two are never mixed. */
export type GoldenOrigin = 'human' | 'generated';

export interface GoldenSetVersion {
  readonly name: string;
  readonly version: number;
  readonly contentHash: string;
  readonly format: string;
  readonly importedAt: Date;
  readonly queries: number;
  readonly judgments: number;
  readonly origin: GoldenOrigin;
  /** How a version came about that was not imported from a file of queries, one sentence. */
  readonly note: string | null;
}

/** Where a query comes from that no person wrote into a file. */
export interface QueryOrigin {
  readonly queryId: string;
  readonly kind: 'live' | 'generated';
  readonly pipeline: string;
  /** Hash of the id of the live query whose text it is, as erasures know it; null for generated ones. */
  readonly liveQueryHash: string | null;
  readonly userHash: string | null;
  readonly askedAt: Date | null;
  /** What else is worth keeping; no text of a live query. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface NewGoldenSet {
  readonly name: string;
  readonly contentHash: string;
  readonly format: string;
  readonly queries: readonly GoldenQuery[];
  /** Left out: `human`. */
  readonly origin?: GoldenOrigin;
  readonly note?: string;
  /** Of queries that no person wrote; those that the set knows already need not be given again. */
  readonly origins?: readonly QueryOrigin[];
}

/** What stands in old versions in the place of a text that was erased. */
export const ERASED_TEXT = '[erased]';

/** Golden sets by name and version. A version never changes once it is there. */
export interface GoldenSets {
  /**
   * Makes a new version, unless the latest one has the same content hash; all or nothing. Two imports of one name
   * at the same time come one after the other. Queries of `origins` whose live query or user was erased since it was
   * asked are left out.
   *
   * @throws RecalldError golden_origin_differs when a set of people would get a version of a model, or the other way
   */
  add(set: NewGoldenSet, now: Date): Promise<{ readonly set: GoldenSetVersion; readonly created: boolean }>;
  /** Null when no set of that name exists. */
  latest(name: string): Promise<GoldenSetVersion | null>;
  /** Every version of every set, newest first within a name. */
  list(): Promise<readonly GoldenSetVersion[]>;
  /** Of the queries of a set, all versions together, in the order of their ids. */
  origins(name: string): Promise<readonly QueryOrigin[]>;
  /**
   * The queries of a version with their judgments, in the order of the import. One that was erased has the text
   * ERASED_TEXT and no tags; the latest version has none such.
   */
  queries(name: string, version: number): Promise<readonly GoldenQuery[]>;
  /** Some of them, in the same order; unknown ids are left out. */
  someQueries(name: string, version: number, selection: QuerySelection): Promise<readonly GoldenQuery[]>;
}

/** Queries by their ids, or by their places in the import: `from` is the first, from 0, and `to` the one behind the last. */
export type QuerySelection =
  | { readonly ids: readonly string[] }
  | { readonly from: number; readonly to: number };
