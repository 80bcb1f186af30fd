/** What somebody who asks a retriever tells of itself. */
export interface AskerState {
  /** Most queries in flight to the retriever, over all who ask it. */
  readonly concurrency: number;
  /** The larger of the last share and what is in flight. */
  readonly using: number;
  /** Failures since its last answer. */
  readonly failuresInARow: number;
}

export interface RetrieverShare {
  /** Most queries that the asker may have in flight until it asks again. */
  readonly slots: number;
  /** Failures in a row of all the others together. */
  readonly failuresElsewhere: number;
}

/** Holds the concurrency and the pace of each retriever over all workers and commands together. */
export interface RetrieverLimits {
  /** Joins those who ask the retriever of a pipeline, or says again that one is there. */
  share(pipeline: string, holder: string, state: AskerState, leaseSeconds: number): Promise<RetrieverShare>;
  leave(pipeline: string, holder: string): Promise<void>;
  /**
   * Books turns, evenly spaced, behind those that were booked before.
   *
   * @returns milliseconds until the first of them
   */
  reserve(pipeline: string, turns: number, perSecond: number): Promise<number>;
}
