import type { QueryOutcome } from '../../model.ts';
import type { Click, ShownQuery } from '../rules/feedback/click-rates.ts';

export interface LiveWindow {
  readonly pipeline: string;
  /** When the queries occurred: inclusive, and exclusive. */
  readonly from: Date;
  readonly until: Date;
}

/** A sample as the measures of live traffic need it. `cluster` is the draw of its session. */
export interface WindowQuery extends ShownQuery {
  readonly outcome: QueryOutcome;
  readonly segments: Readonly<Record<string, string>>;
  /** What its rate and the halvings of its minute gave, see `SamplingDecision`. */
  readonly rateProbability: number;
}

/** Samples of past traffic, read in bounded pieces. Each reading rejects with RecalldError database_unreachable. */
export interface LiveWindows {
  /** Number of samples of the window. */
  count(window: LiveWindow): Promise<number>;
  /**
   * The samples of the window in the order of their occurrence, in batches.
   *
   * @param halvings draws sessions among the samples once more: those whose draw is below 2^-halvings of what it had to
   *   be below. That is the sample which a rate halved as often would have kept, and `probability` is what it would
   *   have been, so that estimates stay unbiased. 0 reads all.
   */
  queries(window: LiveWindow, halvings: number): AsyncIterable<readonly WindowQuery[]>;
  /** Counted clicks on these queries of a pipeline that were received since a time. */
  clicks(pipeline: string, queryIds: readonly string[], since: Date): Promise<readonly Click[]>;
}
