/**
 * The cap on samples a minute. Each replica counts the queries of the minute and halves the
 * rate as often as it takes to stay within its share of `max_per_minute`; it starts a minute with as many halvings as
 * the minute before needed. When the minute is over, the most halvings of any replica hold for the whole minute:
 * samples that only an earlier, higher rate kept are deleted, and all others store the final rate. Who came first
 * makes no difference, and the stored probability is exact.
 *
 * Why estimates stay unbiased. Levels follow from the number and the rates of the queries that arrived and never from
 * their hashes, so that, given the arrivals, a query is kept with exactly `rate * 2^-level`.
 * - Before the minute is closed, a sample holds the level at its own arrival: exact as well, merely unequal within the
 *   minute. A replica that dies leaves such samples behind; they need no repair.
 * - After it, all samples of the minute hold the closing level, on every replica. A higher level keeps a subset of
 *   what a lower one kept, so closing only deletes; closing again, with a report that came late, only deletes more.
 * - A burst or a cold start writes more than the budget until the minute closes: at most budget * (1 + halvings / 2)
 *   in expectation. Closed minutes expect at most the budget. It is the expected number that is capped: a session is
 *   kept whole, so one session that sends thousands of queries a minute can exceed the budget when it is drawn.
 * - A query that is sent again in a later minute of a lower level has two chances. Whoever stores it must keep the
 *   larger probability, and the sample in the minute that gave it, whose closing then holds for both chances alike.
 */

/** What one replica counted in one minute of one pipeline. */
export interface MinuteLoad {
  /** Whole minutes since the epoch, by arrival, not by `occurred_at`. */
  readonly minute: number;
  /** Samples that the rates alone would keep: the sum of the rates of the queries that no rule keeps. */
  readonly expected: number;
  /** Rates of this minute are multiplied by 2^-level. It never falls within a minute. */
  readonly level: number;
}

/**
 * A replica's share of the cap, in samples a minute. With traffic spread unevenly the busiest replica decides the
 * level, so that the pipeline keeps less than the cap, never more.
 *
 * @throws RangeError unless `maxPerMinute` is positive and `replicas` is a whole number >= 1
 */
export function budgetShare(maxPerMinute: number, replicas: number): number {
  if (!(maxPerMinute > 0)) throw new RangeError(`max_per_minute must be positive, not ${maxPerMinute}.`);
  if (!Number.isSafeInteger(replicas) || replicas < 1) {
    throw new RangeError(`The number of replicas must be a whole number of at least 1, not ${replicas}.`);
  }
  return maxPerMinute / replicas;
}

/**
 * Counts one query and returns the load whose level holds for it. When the result has another minute than `load`,
 * that `load` is final and is what the replica reports for closing.
 *
 * @param load of the query before on this replica and pipeline; null at the start
 * @param minute of arrival; when the clock went back, the query counts in the minute that is open
 * @param rate of the query, 0 when a rule keeps it: kept by rule is outside the cap
 * @param budget from `budgetShare`
 */
export function countArrival(load: MinuteLoad | null, minute: number, rate: number, budget: number): MinuteLoad {
  const open = load !== null && minute <= load.minute ? load : openMinute(load, minute, budget);
  const expected = open.expected + rate;
  return { minute: open.minute, expected, level: neededLevel(expected, budget, open.level) };
}

/** After a minute without traffic nothing is known, so the rate starts unhalved. */
function openMinute(previous: MinuteLoad | null, minute: number, budget: number): MinuteLoad {
  const follows = previous !== null && previous.minute + 1 === minute;
  return { minute, expected: 0, level: follows ? neededLevel(previous.expected, budget, 0) : 0 };
}

/** The smallest level, from `least` up, at which the expected samples fit the budget. */
function neededLevel(expected: number, budget: number, least: number): number {
  let level = least;
  while (expected * 2 ** -level > budget) level++;
  return level;
}
