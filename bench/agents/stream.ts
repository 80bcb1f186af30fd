/**
 * Simulates streams of episodes over several days: traffic, the measures that the daemon stores, change detection, and
 * diagnosis.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.ts';
import type { Cause } from '../../src/incidents/diagnosis/rules/cause.ts';
import { diagnose } from '../../src/incidents/diagnosis/rules/diagnose.ts';
import type { EffectKind } from '../../src/incidents/diagnosis/rules/effects.ts';
import type { ObservedLive, ObservedValue } from '../../src/incidents/diagnosis/rules/observed-live.ts';
import {
  type EpisodeMeasure,
  type EpisodeTally,
  episodeMeasures,
  episodeSteps,
  estimateEpisodeMeasure,
  type SampledEpisode,
  tallyEpisode,
} from '../../src/live/rules/episodes.ts';
import { isChanged, type NormalRange, normalRange } from '../../src/measures/rules/measure-change.ts';
import type { Measurement } from '../../src/measures/rules/measurement.ts';
import { type RandomNumbers, randomNumbers } from '../random-numbers.ts';
import { type AgentFault, type Call, drawHabits, type Habits, nothingWrong, runTurn } from './agent.ts';
import type { Library } from './library.ts';
import { goldenRun, observationsOf } from './pipeline.ts';

export const EPISODES_PER_HOUR = 100;
/** Relative amplitude of the daily traffic cycle. */
const SWING = 0.4;
/** Probability that a session continues with another turn about the same article. */
const CONTINUATION_CHANCE = 0.3;
/** Standard deviation of the logarithm of an article's popularity. */
const WANDER = 0.5;
/** Number of hours in which a deviation in popularity decays by a factor of e. */
const MEMORY_HOURS = 72;
const GOLDEN_EVERY_MS = HOUR_MS;

export type StoredValue = Pick<Measurement, 'measure' | 'value' | 'ciLow' | 'ciHigh' | 'windowStart' | 'windowEnd'> & {
  readonly details: Readonly<Record<string, unknown>>;
  readonly n: number;
};

export interface TimedEpisode extends SampledEpisode {
  readonly at: number;
  readonly question: number;
  readonly calls: readonly Call[];
}

/**
 * Generates the episodes of a stream; each call of `next` generates the next hour. A fork continues from the same state
 * with other random numbers.
 */
export interface Traffic {
  next(fault: AgentFault): TimedEpisode[];
  fork(random: RandomNumbers): Traffic;
}

/** @param isWandering true if the popularity of articles drifts */
export function createTraffic(
  library: Library,
  habits: Habits,
  random: RandomNumbers,
  isWandering: boolean,
  from: { readonly hour: number; readonly logs: readonly number[] } | null = null,
): Traffic {
  const logs = [...(from?.logs ?? library.articles.map(() => (isWandering ? WANDER * random.normal() : 0)))];
  const kept = Math.exp(-1 / MEMORY_HOURS);
  let hour = from?.hour ?? 0;
  let sessions = 0;
  return {
    next(fault) {
      if (isWandering)
        for (const [at, log] of logs.entries())
          logs[at] = kept * log + WANDER * Math.sqrt(1 - kept ** 2) * random.normal();
      const weights = logs.map((log, at) => Math.exp(log) * (library.articles[at]?.length ?? 0));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const drawArticle = (): readonly number[] => {
        let left = random.uniform() * total;
        const place = weights.findIndex((weight) => {
          left -= weight;
          return left <= 0;
        });
        return library.articles[place] ?? library.articles[0] ?? [];
      };
      const swing = 1 - SWING * Math.cos((2 * Math.PI * hour) / 24);
      const count = random.poisson(EPISODES_PER_HOUR * swing);
      const episodes: TimedEpisode[] = [];
      while (episodes.length < count) {
        sessions += 1;
        const article = drawArticle();
        const at = Math.floor((hour + random.uniform()) * HOUR_MS);
        do {
          const question = article[random.below(article.length)] ?? 0;
          const calls = runTurn(library, question, fault, habits, random);
          const tally = turnTally(library, question, fault, calls);
          episodes.push({ cluster: hour * 1e6 + sessions, probability: 1, tally, at, question, calls });
        } while (random.uniform() < CONTINUATION_CHANCE && episodes.length < count);
      }
      hour += 1;
      return episodes.toSorted((a, b) => a.at - b.at);
    },
    fork: (other) => createTraffic(library, habits, other, isWandering, { hour, logs }),
  };
}

const tallies = new Map<string, EpisodeTally>();

/** Equal sequences of calls have the same tally, so each distinct sequence is tallied only once. */
function turnTally(library: Library, question: number, fault: AgentFault, calls: readonly Call[]): EpisodeTally {
  const key = `${fault.retriever ?? ''} ${question} ${calls.map(({ form, source, hasFailed }) => `${form}${source}${hasFailed ? 'f' : ''}`).join(' ')}`;
  const known = tallies.get(key);
  if (known !== undefined) return known;
  const { texts = [] } = library.questions[question] ?? {};
  const steps = episodeSteps(
    calls.map(({ form, documents, hasFailed }, step) => ({
      id: String(step),
      text: texts[form] ?? null,
      originalText: texts[0] ?? null,
      documentIds: documents.map((document) => library.documentIds[document] ?? ''),
      outcome: hasFailed ? 'error' : documents.length === 0 ? 'empty' : 'ok',
      occurredAt: new Date(step),
      step,
    })),
  );
  const tally = tallyEpisode(steps);
  tallies.set(key, tally);
  return tally;
}

/** Measures the episodes of a window as the daemon does. */
export function measureWindow(
  episodes: readonly TimedEpisode[],
  from: number,
  until: number,
  measures: readonly EpisodeMeasure[] = episodeMeasures,
): StoredValue[] {
  const inWindow = episodes.filter(({ at }) => at >= from && at < until);
  return measures.flatMap((measure) => {
    const outcome = estimateEpisodeMeasure(measure, inWindow);
    if (outcome.kind !== 'rate') return [];
    const { value, low: ciLow, high: ciHigh, n } = outcome;
    return [{ measure, value, ciLow, ciHigh, windowStart: new Date(from), windowEnd: new Date(until), details: {}, n }];
  });
}

const effects = {
  episode_retrievals: 'episode_calls',
  episode_repeats: 'episode_repeats',
  rewrite_answer_ratio: 'rewritten_queries',
} as const satisfies Partial<Record<EpisodeMeasure, EffectKind>>;
const watched = Object.keys(effects) as (keyof typeof effects)[];
const observedAs = {
  episode_retrievals: 'episodeCalls',
  episode_repeats: 'episodeRepeats',
  rewrite_answer_ratio: 'answerLike',
} as const satisfies Record<keyof typeof effects, keyof ObservedLive>;

/** The default false-alert budget of a pipeline; `series` includes the pipeline's other measures. */
const budget = { count: 1, periodMs: 90 * DAY_MS, series: 10 };
const HISTORY_MS = 14 * DAY_MS;

const LOOK_MS = 5 * MINUTE_MS;

export interface Watch {
  /** Returns the effects of all measures outside their normal ranges. Must be called every five minutes. */
  look(episodes: readonly TimedEpisode[], now: number): readonly EffectKind[];
  observed(episodes: readonly TimedEpisode[], now: number): Partial<ObservedLive>;
  copy(): Watch;
}

/**
 * Detects changes as the daemon does. A confidence interval can be entirely outside the normal range only if the value
 * is outside it too. Therefore, intervals are computed only for values outside that range, and for the history.
 */
export function createWatch(windowMs: number, known: readonly StoredValue[] = []): Watch {
  const stepMs = Math.max(LOOK_MS, windowMs / 12);
  let history = [...known];
  let ranges = new Map<string, NormalRange>();
  const measure = (episodes: readonly TimedEpisode[], now: number): StoredValue[] =>
    measureWindow(episodes, now - windowMs, now, watched);
  return {
    look(episodes, now) {
      if (now % stepMs === 0) {
        const values = measure(episodes, now);
        ranges = new Map(
          values.flatMap((value) => {
            const earlier = history.filter((one) => one.measure === value.measure);
            const range = normalRange(value, earlier, { incidents: [], deployments: [] }, budget);
            return range === null ? [] : [[value.measure, range]];
          }),
        );
        history = [...history.filter(({ windowEnd }) => windowEnd.getTime() >= now - HISTORY_MS), ...values];
      }
      const isBeyond = [...ranges].some(([name, { low, high }]) => {
        const value = quickValue(episodes, now - windowMs, now, name as keyof typeof effects);
        return value > high || value < low;
      });
      if (!isBeyond) return [];
      return measure(episodes, now).flatMap((value) => {
        const range = ranges.get(value.measure);
        return range !== undefined && isChanged(value, range) ? [effects[value.measure as keyof typeof effects]] : [];
      });
    },
    observed: (episodes, now) =>
      Object.fromEntries(
        measure(episodes, now).flatMap(({ measure: name, value, ciLow, ciHigh, n }) => {
          const range = ranges.get(name);
          if (range === undefined) return [];
          const seen: ObservedValue = {
            value,
            ciLow: ciLow ?? value,
            ciHigh: ciHigh ?? value,
            n,
            before: range.normal,
          };
          return [[observedAs[name as keyof typeof observedAs], seen]];
        }),
      ),
    copy: () => createWatch(windowMs, history),
  };
}

function quickValue(
  episodes: readonly TimedEpisode[],
  from: number,
  until: number,
  measure: keyof typeof effects,
): number {
  let [numerator, denominator] = [0, 0];
  for (const { at, tally } of episodes) {
    if (at < from || at >= until) continue;
    numerator +=
      measure === 'episode_retrievals'
        ? tally.retrievals
        : measure === 'episode_repeats'
          ? tally.repeated
          : tally.answers;
    denominator += measure === 'rewrite_answer_ratio' ? tally.rewritten : 1;
  }
  return denominator === 0 ? 0 : numerator / denominator;
}

export interface Called {
  /** Hours from the fault to the first alert; null if no alert fired within a day. */
  readonly hours: number | null;
  /** Cause named in the first message. */
  readonly first: Cause | null;
  /** Cause named two hours after the first message. */
  readonly later: Cause | null;
  readonly firing: readonly EffectKind[];
}

export interface Stream {
  /** Number of alerts that started to fire although there was no fault. */
  readonly falsePages: number;
  readonly days: number;
  /** Outcomes, keyed by the name of the fault. */
  readonly called: Readonly<Record<string, Called>>;
}

/** Number of healthy days before a fault starts. */
const HEALTHY_DAYS = 15;

/** Simulates a healthy stream and then, from the same history, one day of each fault. */
export function runStream(
  library: Library,
  faults: readonly AgentFault[],
  { seed, days, windowMs }: { readonly seed: number; readonly days: number; readonly windowMs: number },
): Stream {
  const random = randomNumbers(seed);
  const hasStore = random.uniform() < 0.7;
  const onset = HEALTHY_DAYS * DAY_MS + random.below(24) * HOUR_MS;
  const traffic = createTraffic(library, drawHabits(random), random, true);
  const watch = createWatch(windowMs);
  let kept: TimedEpisode[] = [];
  let falsePages = 0;
  let wasFiring = false;
  const called: Record<string, Called> = {};
  for (let from = 0; from < days * DAY_MS; from += HOUR_MS) {
    if (from === onset)
      for (const [place, fault] of faults.entries()) {
        const chance = randomNumbers(1_000_000 + 1000 * seed + place);
        const start = { kept, watch: watch.copy(), traffic: traffic.fork(chance), onset, windowMs, hasStore };
        called[fault.name] = runFault(library, fault, start, chance);
      }
    kept = [...kept.filter(({ at }) => at >= from - windowMs), ...traffic.next(nothingWrong)];
    for (let now = from + LOOK_MS; now <= from + HOUR_MS; now += LOOK_MS) {
      const isFiring = watch.look(kept, now).length > 0;
      if (isFiring && !wasFiring) falsePages += 1;
      wasFiring = isFiring;
    }
  }
  return { falsePages, days, called };
}

interface FaultStart {
  readonly kept: readonly TimedEpisode[];
  readonly watch: Watch;
  readonly traffic: Traffic;
  readonly onset: number;
  readonly windowMs: number;
  readonly hasStore: boolean;
}

function runFault(library: Library, fault: AgentFault, start: FaultStart, random: RandomNumbers): Called {
  const { watch, traffic, onset, windowMs, hasStore } = start;
  const healthy = goldenRun(library, nothingWrong, hasStore, random);
  const broken = goldenRun(library, fault, hasStore, random);
  /** Golden runs start at a fixed minute of the hour; a check fails after two bad runs. */
  const firstRun = onset + random.uniform() * GOLDEN_EVERY_MS;
  const confirmed = firstRun + GOLDEN_EVERY_MS;
  let kept = [...start.kept];
  let called: Called = { hours: null, first: null, later: null, firing: [] };
  for (let from = onset; from < onset + DAY_MS; from += HOUR_MS) {
    kept = [...kept.filter(({ at }) => at >= from - windowMs), ...traffic.next(fault)];
    for (let now = from + LOOK_MS; now <= from + HOUR_MS; now += LOOK_MS) {
      const hours = (now - onset) / HOUR_MS;
      const firing = [...watch.look(kept, now), ...(now >= confirmed ? broken.firing : [])];
      const isDue = called.hours === null ? firing.length > 0 : hours >= called.hours + LATER_HOURS;
      if (!isDue) continue;
      const inWindow = kept.filter(({ at }) => at >= now - windowMs && at < now);
      const shareBroken = inWindow.filter(({ at }) => at >= onset).length / inWindow.length;
      const { cause } = diagnose(
        observationsOf({
          firing,
          golden: now >= firstRun ? broken : healthy,
          live: watch.observed(kept, now),
          hasStore,
          isLost: fault.retriever === 'third_lost',
          failing: (fault.failing ?? 0) * shareBroken,
          calls: inWindow.length,
        }),
      );
      if (called.hours !== null) return { ...called, later: cause };
      called = { hours, first: cause, later: cause, firing };
    }
  }
  return called;
}

/** The causes are read again this many hours after the first message. */
const LATER_HOURS = 2;
