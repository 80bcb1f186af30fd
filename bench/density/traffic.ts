/** Simulates the live traffic of one window: seasons, sessions, bots, and topics whose popularity drifts. */
import type { RandomNumbers } from '../random-numbers.ts';
import type { Scores, World } from './world.ts';

export interface Asked {
  /** Index of the query in the scenario. */
  readonly question: number;
  /** Session id; null if the client sends none. */
  readonly session: string | null;
}

/** Differences from the traffic of the baseline. */
export interface TrafficChange {
  /** Topic that is added, and the share of sessions that are about it; null if no topic is added. */
  readonly added: { readonly topic: number; readonly share: number } | null;
  /** Factors by which the popularity of the topics changes, in the order of the traffic's topics. */
  readonly factors: Float64Array | null;
}

export interface Traffic {
  /**
   * Returns the queries of the hour that begins `hour` hours after the start, a Monday at midnight. Hours must not
   * decrease.
   */
  hour(hour: number, change: TrafficChange): Asked[];
}

/** Changes in topic popularity that occur even if no change is simulated. */
export interface Unrest {
  /**
   * Standard deviation of the logarithm of a topic's popularity, which drifts over two weeks (Ornstein-Uhlenbeck
   * process).
   */
  readonly spread: number;
  /** Number of days for which a topic stays in the news. */
  readonly newsDays: number;
}

export const usualUnrest: Unrest = { spread: 0.2, newsDays: 1 };

export const noChange: TrafficChange = { added: null, factors: null };

const QUERIES_PER_SESSION = 3;
const STAYS_ON_TOPIC = 0.8;
/** Correlation between the difficulties of one user's queries. */
const USER_CORRELATION = 0.3;
const WEEKEND_VOLUME = 0.45;
const NIGHT_VOLUME = 0.25;
/** Amplitude of the daily cycle of a topic's popularity, as a logarithm. */
const HOUR_SWING = 0.6;
/** Maximum change in a topic's popularity on weekends, as a logarithm. */
const WEEKEND_SWING = 0.4;
/** Time constant of the drift in popularity, in days. */
const WANDER_DAYS = 14;
/** Probability per day that a topic enters the news. */
const NEWS_PER_DAY = 0.1;
/** Factor by which the number of queries about a topic increases while the topic is in the news. */
const NEWS_FACTOR = 4;
/** Probability per hour that a bot repeats one query. */
const BOTS_PER_HOUR = 0.02;
/** Ratio of the bot's queries to the expected number of queries in the hour. */
const BOT_SHARE = 0.1;

/**
 * @param scores scores of the queries, which rank the queries of each topic from hardest to easiest
 * @param volume mean number of queries per hour over a week
 * @param people random numbers for the users; `path`: random numbers for the popularity drift, which all streams of a
 * pipeline share
 */
export function traffic(
  world: World,
  scores: Scores,
  volume: number,
  { people: random, path }: { readonly people: RandomNumbers; readonly path: RandomNumbers },
  { spread, newsDays }: Unrest = usualUnrest,
): Traffic {
  const ranked = rankedByTopic(world, scores);
  const wander = world.asked.map(() => spread * path.normal());
  const groupPhase = world.asked.map(({ group }) => (group * 2.4) % (2 * Math.PI));
  const groupWeekend = world.asked.map(({ group }) => (group % 3) - 1);
  let day = 0;
  let news: number | null = null;
  let newsUntil = 0;
  let sessions = 0;
  const startDay = (next: number): void => {
    const keep = Math.exp(-1 / WANDER_DAYS);
    for (; day < next; day++) {
      for (const [i, value] of wander.entries()) {
        wander[i] = keep * value + Math.sqrt(1 - keep ** 2) * spread * path.normal();
      }
      if (day < newsUntil) continue;
      news = path.uniform() < NEWS_PER_DAY ? path.below(wander.length) : null;
      if (news !== null) newsUntil = day + newsDays;
    }
  };
  const questionOf = (topic: number, person: number): number => {
    const questions = ranked.get(topic) ?? [];
    const ease = Math.sqrt(USER_CORRELATION) * person + Math.sqrt(1 - USER_CORRELATION) * random.normal();
    return questions[Math.min(questions.length - 1, Math.floor(normalShare(ease) * questions.length))] ?? 0;
  };
  return {
    hour: (hour, { added, factors }) => {
      startDay(Math.floor(hour / 24));
      const isWeekend = Math.floor(hour / 24) % 7 >= 5;
      const clock = (2 * Math.PI * (hour % 24)) / 24;
      const weights = world.asked.map(
        ({ share }, i) =>
          share *
          Math.exp(
            (wander[i] ?? 0) +
              HOUR_SWING * Math.cos(clock - (groupPhase[i] ?? 0)) +
              (isWeekend ? WEEKEND_SWING * (groupWeekend[i] ?? 0) : 0),
          ) *
          (news === i ? NEWS_FACTOR : 1) *
          (factors?.[i] ?? 1),
      );
      const cumulative = cumulated(weights);
      const expected = volume * seasonOf(hour);
      const queries: Asked[] = [];
      for (let left = random.poisson(expected / QUERIES_PER_SESSION); left > 0; left--) {
        const session = `s${sessions++}`;
        const person = random.normal();
        const isNew = added !== null && random.uniform() < added.share;
        let topic = isNew ? added.topic : drawTopic(world, cumulative, random);
        do {
          queries.push({ question: questionOf(topic, person), session });
          if (!isNew && random.uniform() > STAYS_ON_TOPIC) topic = drawTopic(world, cumulative, random);
        } while (random.uniform() > 1 / QUERIES_PER_SESSION);
      }
      if (random.uniform() < BOTS_PER_HOUR) {
        const question = questionOf(drawTopic(world, cumulative, random), random.normal());
        const session = random.uniform() < 0.5 ? null : `bot${sessions++}`;
        for (let left = Math.round(BOT_SHARE * expected); left > 0; left--) queries.push({ question, session });
      }
      return queries;
    },
  };
}

/** Returns the traffic in an hour, relative to the mean traffic per hour of the week. */
function seasonOf(hour: number): number {
  const isWeekend = Math.floor(hour / 24) % 7 >= 5;
  return ((isWeekend ? WEEKEND_VOLUME : 1) * dayCurve(hour % 24)) / MEAN_SEASON;
}

function dayCurve(hour: number): number {
  return NIGHT_VOLUME + (1 - NIGHT_VOLUME) * Math.max(0, Math.sin((Math.PI * (hour - 6)) / 16));
}

const MEAN_SEASON =
  ((5 + 2 * WEEKEND_VOLUME) / 7) *
  (Array.from({ length: 24 }, (_, hour) => dayCurve(hour)).reduce((a, b) => a + b) / 24);

/** Returns the queries of each topic, hardest first. */
function rankedByTopic({ topics }: World, scores: Scores): Map<number, number[]> {
  const ranked = new Map<number, number[]>();
  for (const [question, topic] of topics.entries()) {
    const own = ranked.get(topic);
    if (own === undefined) ranked.set(topic, [question]);
    else own.push(question);
  }
  for (const own of ranked.values()) own.sort((a, b) => (scores[a] ?? 0) - (scores[b] ?? 0));
  return ranked;
}

function cumulated(weights: readonly number[]): Float64Array {
  let sum = 0;
  return Float64Array.from(weights, (weight) => (sum += weight));
}

function drawTopic(world: World, cumulative: Float64Array, random: RandomNumbers): number {
  const at = random.uniform() * (cumulative.at(-1) ?? 0);
  const place = cumulative.findIndex((sum) => at < sum);
  return world.asked[Math.max(0, place)]?.topic ?? 0;
}

/**
 * Approximates the standard normal distribution function to within 0.01 by a logistic curve. Ranks need no higher
 * precision.
 */
function normalShare(z: number): number {
  return 1 / (1 + Math.exp(-1.702 * z));
}
