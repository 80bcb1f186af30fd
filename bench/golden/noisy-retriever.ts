/** A simulated retriever whose results vary although its index does not change. */
import { mean } from '../../src/math/stats/descriptive.ts';
import type { RandomNumbers } from '../random-numbers.ts';

export interface NoiseLevel {
  readonly name: string;
  /**
   * Share of the queries whose relevant document moves by up to three ranks in a run, independently of other queries.
   */
  readonly restless: number;
  /** Share of the queries whose relevant document gets a random rank in a run, independently of other queries. */
  readonly flips: number;
  /** Standard deviation of the shift that all queries of a run share, in nDCG. */
  readonly shared: number;
  /**
   * `each run`: one of three replicas, chosen at random, answers all queries of a run; `each query`: for each query, a
   * replica is chosen at random. Each replica returns different results for a tenth of the queries.
   */
  readonly replicas: 'none' | 'each run' | 'each query';
  /** Effect of the nightly rebuild on the index; null if the index is never rebuilt. */
  readonly rebuild: Rebuild | null;
}

export interface Rebuild {
  /** Share of the queries whose relevant document gets a random rank each night. */
  readonly redraw: number;
  /** Standard deviation of the nightly shift that all queries share, in nDCG. */
  readonly shared: number;
  /** True if a night starts with the index of the previous night; false if it starts with the first index. */
  readonly wanders: boolean;
  /** True if recalld detects the rebuild, from the store or from a recorded deployment. */
  readonly isSeen: boolean;
}

/** Scores of one run; each array contains one score per query. */
export interface ScoredRun {
  readonly ndcg: Float64Array;
  readonly hits: Float64Array;
}

/** Golden queries, each with the rank that the index gives its only relevant document. */
export interface Retriever {
  /** Rank of each query's document: 1 to 10, or `MISS`. */
  readonly ranks: Uint8Array;
  readonly scores: ScoredRun;
  readonly meanNdcg: number;
  /** For each replica, the rank of each query's document in the results of the replica. */
  readonly replicas: readonly Uint8Array[];
}

const DEPTH = 10;
const MISS = DEPTH + 1;
const REPLICAS = 3;
/** Share of the queries for which a replica's results differ from those of the index. */
const OWN_SHARE = 0.1;

/**
 * Shares of the queries whose document has rank 1, 2, ...; the other queries miss their document. The nDCG@10 is about
 * 0.68, and the hit rate is 0.86.
 */
const RANK_SHARES: readonly number[] = [0.5, 0.13, 0.07, 0.05, 0.03, 0.025, 0.02, 0.015, 0.01, 0.01];
const MAX_MOVE = 3;

const gains = Float64Array.from({ length: MISS + 1 }, (_, rank) =>
  rank >= 1 && rank <= DEPTH ? 1 / Math.log2(rank + 1) : 0,
);

export function drawRetriever(queries: number, random: RandomNumbers): Retriever {
  const ranks = Uint8Array.from({ length: queries }, () => drawRank(random));
  const replicas = Array.from({ length: REPLICAS }, () => redrawnRanks(ranks, OWN_SHARE, random));
  return retrieverOf(ranks, replicas);
}

function drawRank(random: RandomNumbers): number {
  let rest = random.uniform();
  const rank = RANK_SHARES.findIndex((share) => {
    rest -= share;
    return rest < 0;
  });
  return rank === -1 ? MISS : rank + 1;
}

function redrawnRanks(ranks: Uint8Array, share: number, random: RandomNumbers): Uint8Array {
  const drawn = ranks.slice();
  for (const query of chosen(ranks.length, share, random)) drawn[query] = drawRank(random);
  return drawn;
}

/** Returns the retriever after a nightly rebuild of its index. */
export function rebuilt(
  retriever: Retriever,
  { redraw, shared }: Pick<Rebuild, 'redraw' | 'shared'>,
  random: RandomNumbers,
): Retriever {
  const ranks = redrawnRanks(retriever.ranks, redraw, random);
  for (const [query, rank] of swayed(retriever, shared, random)) ranks[query] = rank;
  return retrieverOf(ranks, retriever.replicas);
}

/**
 * Simulates one run. A shared drop makes each query miss its document with the same probability, as if a shard
 * responded too late. A shared rise instead moves the document to the first rank.
 */
export function runOnce(retriever: Retriever, noise: NoiseLevel, random: RandomNumbers): ScoredRun {
  const ndcg = retriever.scores.ndcg.slice();
  const hits = retriever.scores.hits.slice();
  const put = (query: number, rank: number): void => {
    ndcg[query] = gains[rank] as number;
    hits[query] = rank <= DEPTH ? 1 : 0;
  };
  if (noise.replicas !== 'none') {
    const served = random.below(REPLICAS);
    for (const query of ndcg.keys()) {
      const replica = noise.replicas === 'each run' ? served : random.below(REPLICAS);
      put(query, retriever.replicas[replica]?.[query] as number);
    }
  }
  for (const query of chosen(ndcg.length, noise.restless, random)) {
    put(query, moved(retriever.ranks[query] as number, random));
  }
  for (const query of chosen(ndcg.length, noise.flips, random)) put(query, drawRank(random));
  for (const [query, rank] of swayed(retriever, noise.shared, random)) put(query, rank);
  return { ndcg, hits };
}

/** Draws a shared rise or drop with the given standard deviation, and yields each affected query with its new rank. */
function* swayed({ ranks, meanNdcg }: Retriever, deviation: number, random: RandomNumbers) {
  const shift = deviation === 0 ? 0 : deviation * random.normal();
  const room = shift < 0 ? meanNdcg : 1 - meanNdcg;
  for (const query of chosen(ranks.length, Math.abs(shift) / room, random)) {
    yield [query, shift < 0 ? MISS : 1] as const;
  }
}

/**
 * Returns the retriever after a change that lowers its mean nDCG by `drop`: some queries get random ranks, and others
 * lose their document.
 *
 * @param churn share of the queries that get random ranks
 */
export function damage(retriever: Retriever, drop: number, churn: number, random: RandomNumbers): Retriever {
  const ranks = redrawnRanks(retriever.ranks, churn, random);
  const replicas = retriever.replicas.map((own) => own.slice());
  let above = ranks.length * (meanNdcgOf(ranks) - retriever.meanNdcg + drop);
  while (above > 0) {
    const query = random.below(ranks.length);
    above -= gains[ranks[query] as number] as number;
    for (const changed of [ranks, ...replicas]) changed[query] = MISS;
  }
  return retrieverOf(ranks, replicas);
}

function meanNdcgOf(ranks: Uint8Array): number {
  return mean(Float64Array.from(ranks, (rank) => gains[rank] as number));
}

function retrieverOf(ranks: Uint8Array, replicas: readonly Uint8Array[]): Retriever {
  const ndcg = Float64Array.from(ranks, (rank) => gains[rank] as number);
  const hits = Float64Array.from(ranks, (rank) => (rank <= DEPTH ? 1 : 0));
  return { ranks, scores: { ndcg, hits }, meanNdcg: mean(ndcg), replicas };
}

/** Yields a random subset of the indexes below `count`, which includes each index with the given probability. */
function* chosen(count: number, chance: number, random: RandomNumbers): Generator<number> {
  if (chance <= 0) return;
  const scale = 1 / Math.log1p(-Math.min(chance, MAX_CHANCE));
  const gap = (): number => Math.floor(Math.log1p(-random.uniform()) * scale);
  for (let at = gap(); at < count; at += 1 + gap()) yield at;
}

const MAX_CHANCE = 0.999;

function moved(rank: number, random: RandomNumbers): number {
  const by = (1 + random.below(MAX_MOVE)) * (random.uniform() < 0.5 ? -1 : 1);
  return Math.min(MISS, Math.max(1, rank + by));
}
