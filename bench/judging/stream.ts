/** Simulates daily judged live traffic, with a panel that is graded again every day, and recalld's decisions. */

import { judgeDrift, judgePanelSize } from '../../src/judging/rules/agreement.ts';
import {
  type DropState,
  dropState,
  humanDrop,
  type JudgedDay,
  type JudgedQuery,
  judgedMean,
  largestDrop,
} from '../../src/judging/rules/judged-mean.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import { type Budget, drawFrom, gradeOf, latentOf, type Query, type World } from './world.ts';

export interface StreamSettings {
  readonly budget: Budget;
  readonly noise: number;
  /** Source of all sessions that are not sampled from `faulty` or `restless`. */
  readonly usual: World;
  readonly faulty: World | null;
  /** Share of sessions sampled from `faulty` on a day, from 0 to 1. */
  readonly share: (day: number) => number;
  /** Share of sessions sampled from `restless` on a day: sessions with poor results that are not due to a fault. */
  readonly unrest: (day: number) => number;
  readonly restless: World;
  /**
   * Number of grade points by which the judge grades higher on a day than at the beginning; `drifted` contains the
   * resulting grades for `usual`.
   */
  readonly drift: (day: number) => number;
  readonly drifted: World | null;
  readonly days: number;
}

export interface StreamDay {
  readonly day: number;
  readonly judge: 'steady' | 'suspected' | 'changed' | null;
  readonly state: DropState | null;
}

/** Number of sessions per day. A fifth of the sessions is sampled, and some of the sampled sessions are graded. */
const SESSIONS = 1200;
const DEPTH = 5;
const RETENTION_DAYS = 30;
/** Standard deviation of a grade when the same pair is graded again: a few percent of the grades differ. */
const REPEAT_NOISE = 0.08;

interface Pair {
  /** Grade before the judge's bias is added. */
  readonly read: number;
  readonly first: number;
  readonly repeat: number | null;
  readonly joined: number;
}

/**
 * Returns the decisions of each day, which are based on the grades up to the previous day and on the morning's panel.
 */
export function playStream(settings: StreamSettings, random: RandomNumbers): StreamDay[] {
  const { budget, noise, drift, days: length } = settings;
  const size = judgePanelSize(budget.model * DEPTH);
  let panel: Pair[] = [];
  let days: JudgedDay[] = [];
  const graded: { readonly day: number; readonly queries: readonly JudgedQuery[] }[] = [];
  const played: StreamDay[] = [];
  const ask = (read: number, day: number): number => gradeOf(read + drift(day) + REPEAT_NOISE * random.normal());
  for (let day = 0; day < length; day++) {
    const asked = panel.map((pair) => ({ ...pair, now: ask(pair.read, day) }));
    const found = judgeDrift(asked);
    const hasChanged = found?.verdict === 'changed';
    if (hasChanged) days = [];
    panel = asked.map(({ now, ...pair }) =>
      hasChanged ? { ...pair, first: now, repeat: null } : { ...pair, repeat: pair.repeat ?? now },
    );
    const drop = found?.verdict === 'steady' ? largestDrop(days) : null;
    const since = drop === null ? 0 : Math.round(drop.since.getTime() / DAY_MS);
    const queriesOf = (is: (at: number) => boolean): JudgedQuery[] =>
      graded.flatMap((one) => (is(one.day) ? one.queries : []));
    const called = drop !== null && dropState(drop, null) === 'detected';
    const people = called
      ? humanDrop(
          queriesOf((at) => at < since),
          queriesOf((at) => at >= since),
        )
      : null;
    played.push({ day, judge: found?.verdict ?? null, state: drop === null ? null : dropState(drop, people) });

    const queries = dayOf(settings, day, random);
    graded.push({ day, queries });
    while ((graded[0]?.day ?? day) < day - RETENTION_DAYS) graded.shift();
    const mean = judgedMean(
      queries.map((query) => ({
        ...query,
        humanProbability: query.modelProbability,
        people: query.model,
        model: null,
      })),
    );
    if (mean !== null) {
      const { value, standardError } = mean;
      days.push({ start: new Date(day * DAY_MS), value, standardError, n: queries.length });
    }
    panel = panel.filter(({ joined }) => joined >= day - RETENTION_DAYS);
    for (let newPairs = Math.min(size.newPairs, size.pairs - panel.length); newPairs > 0; newPairs--) {
      const read = latentOf(random) + noise * random.normal();
      panel.push({ read, first: ask(read, day), repeat: null, joined: day });
    }
  }
  return played;
}

const DAY_MS = 86_400_000;

function dayOf(settings: StreamSettings, day: number, random: RandomNumbers): JudgedQuery[] {
  const { usual, faulty, restless, drifted, share, unrest, drift, budget } = settings;
  const base = drift(day) === 0 || drifted === null ? usual : drifted;
  const one = ({ sessions }: World): readonly Query[] => sessions[random.below(sessions.length)] ?? [];
  const sessions = Array.from({ length: SESSIONS }, () => {
    if (faulty !== null && random.uniform() < share(day)) return one(faulty);
    return one(random.uniform() < unrest(day) ? restless : base);
  });
  return drawFrom({ ...base, sessions }, budget, random)
    .scores('ndcg')
    .map((query) => ({ ...query, cluster: `${day} ${query.cluster}` }));
}
