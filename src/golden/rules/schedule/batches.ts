/** The parts of a golden run that workers take one at a time. */

/** Queries of a batch: few enough to be lost without pain, enough to be worth the way through the queue. */
export const BATCH_QUERIES = 50;
