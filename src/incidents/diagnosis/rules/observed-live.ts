/** Observations of live traffic around an alert. Null means that nothing was measured. */

/** A value with its 95 % CI. */
export interface EstimatedValue {
  readonly value: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Sample size. */
  readonly n: number;
}

export interface ObservedValue extends EstimatedValue {
  readonly before: number;
}

export interface ObservedShare extends EstimatedValue {
  readonly before: number | null;
}

export interface ObservedLive {
  /** Share of live queries that fail or time out. */
  readonly errors: ObservedShare | null;
  /** Share of live queries that return no document. */
  readonly empty: ObservedShare | null;
  /** 95th-percentile latency in milliseconds, as reported by the service. */
  readonly latency: { readonly before: number; readonly now: number; readonly n: number } | null;
  /** Mean number of results per non-empty result list. */
  readonly results: ObservedValue | null;
  /** Mean number of characters in the texts of a result list. */
  readonly characters: ObservedValue | null;
  /** Mean share of repeated text within a result list. */
  readonly repeated: ObservedValue | null;
  /** Share of live queries that equal the most frequent query. */
  readonly topQuery: ObservedValue | null;
  /** Share of live queries that repeat an earlier query of their session. */
  readonly repeatedQueries: ObservedValue | null;
  /** Share of queries in the usual language. */
  readonly mainLanguage: ObservedValue | null;
  /** Mean number of characters per query. */
  readonly queryLength: ObservedValue | null;
  /** Share of queries with a malformed text. */
  readonly malformed: ObservedValue | null;
  /** Share of queries without capital letters, digits and punctuation. */
  readonly plain: ObservedValue | null;
  readonly feedback: ObservedFeedback | null;
  readonly episodeCalls: ObservedValue | null;
  /** Mean number of calls per episode that return what an earlier call of the same episode returned. */
  readonly episodeRepeats: ObservedValue | null;
  /** Share of rewritten queries that look like answers. */
  readonly answerLike: ObservedValue | null;
  /** Judged score of rewritten queries minus the score of the original texts. */
  readonly rewriteGain: ObservedValue | null;
}

export interface ObservedFeedback extends ObservedValue {
  /** `opinions`: share of positive feedback; `clicks`: share of queries with a click. */
  readonly of: 'opinions' | 'clicks';
  /** True if change detection found the drop; it finds a drop before the CI of the whole window shows it. */
  readonly isDrop: boolean;
}

/** Mean rank-biased overlap between the results that users got and the results of the same queries when replayed. */
export interface ObservedReplay {
  /** Overlap for queries from the last hour. */
  readonly now: EstimatedValue;
  /** Overlap for queries from before the incident. */
  readonly before: EstimatedValue;
}
