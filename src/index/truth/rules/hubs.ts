/**
 * Hub documents, which are retrieved for far more queries than the average document, and dead chunks, which are never
 * retrieved. In high dimensions, a few vectors are close to all others (Radovanović, Nanopoulos and Ivanović 2010).
 */
import { wilsonInterval } from '../../../math/stats/intervals.ts';

/** Documents that were returned for queries; each distinct query counts once. */
export interface ReturnedDocuments {
  /** Number of distinct queries for which documents were returned. */
  readonly queries: number;
  /** Number of distinct documents among the top k results of these queries. */
  readonly documents: number;
  /** Number of results, summed over all queries. */
  readonly results: number;
  /** Most retrieved documents first. */
  readonly top: readonly ReturnedDocument[];
}

export interface ReturnedDocument {
  readonly id: string;
  /** Number of queries with the document among the top k results. */
  readonly queries: number;
  /** Texts of some of these queries, or their ids if texts are not stored. */
  readonly examples: readonly string[];
}

export type Hub = NonNullable<ReturnType<typeof findHubs>>[number];

export const MIN_QUERIES = 100;
/** Minimum ratio of the number of queries that retrieve a hub to the mean number over all retrieved documents. */
const MIN_RATIO = 10;
/**
 * Minimum share of all queries that retrieve a hub. The number of these queries must also exceed `MIN_RATIO` times the
 * mean number over all retrieved documents.
 */
const MIN_SHARE = 0.02;
const ERROR = 0.05;

/**
 * Finds documents that significantly exceed both limits. A document exceeds a limit significantly if the lower bound of
 * its 95 % Wilson interval is above the limit. The interval is Bonferroni-corrected for all retrieved documents.
 * Returns null if there are fewer than 100 queries.
 */
export function findHubs({ queries, documents, results, top }: ReturnedDocuments) {
  if (queries < MIN_QUERIES) return null;
  if (documents === 0) return [];
  const mean = results / documents / queries;
  return top
    .map((one) => {
      // The confidence intervals are simultaneous: their confidence level holds for all documents together.
      const share = one.queries / queries;
      return { ...one, share, ...wilsonInterval(share, queries, 1 - ERROR / documents) };
    })
    .filter(({ low }) => low > Math.max(MIN_SHARE, MIN_RATIO * mean));
}

/**
 * Returns the share of chunks that are never retrieved. Returns null if none of the sampled chunks was ever retrieved,
 * because in that case the ids that the retriever returns probably differ from those in the store.
 *
 * @param sampled ids sampled uniformly from the store
 * @param retrieved the sampled ids that at least one query retrieved
 */
export function deadChunks(sampled: readonly string[], retrieved: ReadonlySet<string>) {
  const ids = sampled.filter((id) => !retrieved.has(id));
  if (ids.length === sampled.length) return null;
  const share = ids.length / sampled.length;
  return { share, ...wilsonInterval(share, sampled.length, 1 - ERROR), sampled: sampled.length, ids };
}
