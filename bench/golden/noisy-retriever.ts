/** A retriever over an unchanged index that does not always answer the same. */
import { mean } from '../../src/stats/descriptive.ts';
import type { RandomNumbers } from '../random-numbers.ts';

export interface NoiseLevel {
  readonly name: string;
  /** Share of the queries whose best document comes at another rank in a run, each by itself. */
  readonly restless: number;
  /** Standard deviation of the fall or rise that all queries of a run share, in units of nDCG. */
  readonly shared: number;
}

/** Scores of one run, one per query. */
export interface ScoredRun {
  readonly ndcg: Float64Array;
  readonly hits: Float64Array;
}

/** The golden queries with the rank of the one relevant document of each, as the index gives it. */
export interface Retriever {
  /** 1 to 10, or `MISS`. */
  readonly ranks: Uint8Array;
  readonly scores: ScoredRun;
  readonly meanNdcg: number;
}

const DEPTH = 10;
const MISS = DEPTH + 1;

/** Shares of the ranks 1, 2, ...; the other queries miss. An nDCG@10 of about 0.68 and a hit rate of 0.86. */
const RANK_SHARES: readonly number[] = [0.5, 0.13, 0.07, 0.05, 0.03, 0.025, 0.02, 0.015, 0.01, 0.01];
const LONGEST_MOVE = 3;

const gains = Float64Array.from({ length: MISS + 1 }, (_, rank) =>
  rank >= 1 && rank <= DEPTH ? 1 / Math.log2(rank + 1) : 0,
);

export function drawRetriever(queries: number, random: RandomNumbers): Retriever {
  return retrieverOf(
    Uint8Array.from({ length: queries }, () => {
      let rest = random.uniform();
      const rank = RANK_SHARES.findIndex((share) => {
        rest -= share;
        return rest < 0;
      });
      return rank === -1 ? MISS : rank + 1;
    }),
  );
}

/**
 * One run. Restless queries move by up to three ranks. A shared fall takes its document from each query with the
 * same chance, as a shard that answers too late does; a shared rise brings it to the first rank.
 */
export function runOnce(retriever: Retriever, { restless, shared }: NoiseLevel, random: RandomNumbers): ScoredRun {
  const ndcg = retriever.scores.ndcg.slice();
  const hits = retriever.scores.hits.slice();
  const put = (query: number, rank: number): void => {
    ndcg[query] = gains[rank] as number;
    hits[query] = rank <= DEPTH ? 1 : 0;
  };
  for (const query of chosen(ndcg.length, restless, random)) {
    put(query, moved(retriever.ranks[query] as number, random));
  }
  const shift = shared === 0 ? 0 : shared * random.normal();
  const room = shift < 0 ? retriever.meanNdcg : 1 - retriever.meanNdcg;
  const swayed = chosen(ndcg.length, Math.abs(shift) / room, random);
  for (const query of swayed) put(query, shift < 0 ? MISS : 1);
  return { ndcg, hits };
}

/**
 * The retriever after a change by which its mean nDCG falls by `drop`: some queries come out anew, better or worse,
 * and others lose their document.
 *
 * @param churn share of the queries that come out anew
 */
export function damage(retriever: Retriever, drop: number, churn: number, random: RandomNumbers): Retriever {
  const { ranks } = drawRetriever(retriever.ranks.length, random);
  for (const [query, rank] of retriever.ranks.entries()) {
    if (random.uniform() >= churn) ranks[query] = rank;
  }
  let above = ranks.length * (retrieverOf(ranks).meanNdcg - retriever.meanNdcg + drop);
  while (above > 0) {
    const query = random.below(ranks.length);
    above -= gains[ranks[query] as number] as number;
    ranks[query] = MISS;
  }
  return retrieverOf(ranks);
}

function retrieverOf(ranks: Uint8Array): Retriever {
  const ndcg = Float64Array.from(ranks, (rank) => gains[rank] as number);
  const hits = Float64Array.from(ranks, (rank) => (rank <= DEPTH ? 1 : 0));
  return { ranks, scores: { ndcg, hits }, meanNdcg: mean(ndcg) };
}

/** Each of `count` with the given chance. */
function* chosen(count: number, chance: number, random: RandomNumbers): Generator<number> {
  if (chance <= 0) return;
  const scale = 1 / Math.log1p(-Math.min(chance, LARGEST_CHANCE));
  const gap = (): number => Math.floor(Math.log1p(-random.uniform()) * scale);
  for (let at = gap(); at < count; at += 1 + gap()) yield at;
}

const LARGEST_CHANCE = 0.999;

function moved(rank: number, random: RandomNumbers): number {
  const by = (1 + random.below(LONGEST_MOVE)) * (random.uniform() < 0.5 ? -1 : 1);
  return Math.min(MISS, Math.max(1, rank + by));
}
