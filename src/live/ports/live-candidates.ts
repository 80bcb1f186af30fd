import type { CandidateQuery } from '../../golden/rules/promotion.ts';

/** Live queries that may become golden ones. */
export interface LiveCandidates {
  /**
   * At most `limit` samples that arrived since then and have a text, with their feedback; those with feedback come
   * first, in random order.
   */
  read(request: {
    readonly pipeline: string;
    readonly since: Date;
    readonly limit: number;
  }): Promise<readonly CandidateQuery[]>;
}
