/** How much of a run's asking is done, in batches. */
export interface BatchCounts {
  /** Batches that nobody holds and that are not done. */
  readonly free: number;
  /** Batches that a worker holds. */
  readonly held: number;
  readonly done: number;
}

/**
 * The parts of golden runs that workers take one at a time, each held through a lease. They exist from the moment that
 * the run does. What was answered is told by the answers alone: a batch that is taken over asks what has none.
 */
export interface GoldenBatches {
  /**
   * Takes the first batch that is not done and that nobody holds.
   *
   * @returns its number, or null when there is none, the run has ended, or one worker holds the run as a whole
   */
  claim(runId: string, holder: string, leaseSeconds: number): Promise<number | null>;
  /** False when the run has ended or somebody else took the batch. */
  renew(runId: string, batch: number, holder: string, leaseSeconds: number): Promise<boolean>;
  /** Gives the batch back, so that another may go on at once. */
  release(runId: string, batch: number, holder: string): Promise<void>;
  /** Says that every query of the batch has an answer. */
  complete(runId: string, batch: number): Promise<void>;
  /** Says so of every batch of the run. */
  completeAll(runId: string): Promise<void>;
  counts(runId: string): Promise<BatchCounts>;
}
