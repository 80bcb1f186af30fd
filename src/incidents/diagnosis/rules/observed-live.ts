/** Observations of live traffic around an alert. Null means not measured. */

/** A share of live queries, with its lower 95 % bound, the sample size, and its earlier value. */
export interface ObservedShare {
  readonly value: number;
  readonly ciLow: number;
  readonly n: number;
  readonly before: number | null;
}

/** A value of live traffic and its earlier value. */
export interface ObservedValue {
  readonly value: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  /** Number of live queries or feedback items behind the value. */
  readonly n: number;
  readonly before: number;
}

export interface ObservedLive {
  /** Live queries that fail or time out. */
  readonly errors: ObservedShare | null;
  /** Live queries that return no document. */
  readonly empty: ObservedShare | null;
  /** 95th-percentile latency in milliseconds, as reported by the service. */
  readonly latency: { readonly before: number; readonly now: number; readonly n: number } | null;
  /** Number of results per non-empty result list. */
  readonly results: ObservedValue | null;
  /** Number of characters in the texts of one result list. */
  readonly characters: ObservedValue | null;
  /** Share of repeated text within one result list. */
  readonly repeated: ObservedValue | null;
  /** Share of the most frequent query. */
  readonly topQuery: ObservedValue | null;
  /** Share of queries in the usual language. */
  readonly mainLanguage: ObservedValue | null;
  readonly feedback: ObservedFeedback | null;
  /** Retrieval calls per episode. */
  readonly episodeCalls: ObservedValue | null;
  /** Calls per episode that return what an earlier call of the episode returned. */
  readonly episodeRepeats: ObservedValue | null;
  /** Share of rewritten queries that look like answers. */
  readonly answerLike: ObservedValue | null;
  /** Judged score of rewritten queries minus the score of the original texts. */
  readonly rewriteGain: ObservedValue | null;
}

export interface ObservedFeedback extends ObservedValue {
  /** `opinions`: share of positive feedback; `clicks`: share of queries with a click. */
  readonly of: 'opinions' | 'clicks';
  /**
   * True if change detection found the drop. Change detection finds a drop before the confidence interval of the whole
   * window shows it.
   */
  readonly isDrop: boolean;
}

export const nothingLive: ObservedLive = {
  errors: null,
  empty: null,
  latency: null,
  results: null,
  characters: null,
  repeated: null,
  topQuery: null,
  mainLanguage: null,
  feedback: null,
  episodeCalls: null,
  episodeRepeats: null,
  answerLike: null,
  rewriteGain: null,
};
