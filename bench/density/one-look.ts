/** Compares one window of queries with a baseline, as `recalld drift` does. */
import { compareCoverage } from '../../src/density/offline-drift.ts';
import { mean } from '../../src/math/stats/descriptive.ts';
import { selectRows } from '../../src/math/vector/matrix.ts';
import { type ShareWithBounds, shareWithBounds } from '../bounds.ts';
import { type RandomNumbers, randomNumbers } from '../random-numbers.ts';
import type { World } from './world.ts';

export interface LookCell {
  readonly world: string;
  readonly change: string;
  readonly reference: number;
  readonly current: number;
  readonly alpha: number;
  readonly draws: number;
  /** Geometric mean of the density over the comparisons. */
  readonly density: number;
  /** Share of the comparisons that reported worse coverage of the current queries. */
  readonly called: ShareWithBounds;
}

export interface LookSize {
  readonly reference: number;
  readonly current: number;
}

export type LookChange =
  | { readonly kind: 'none' }
  | { readonly kind: 'uncovered' | 'new and held'; readonly share: number }
  | { readonly kind: 'topic mix'; readonly spread: number };

/** Significance level: the default of `recalld drift`. */
const ALPHA = 0.05;

const names: Readonly<Record<LookChange['kind'], string>> = {
  none: 'none',
  uncovered: 'topic that the store lacks',
  'new and held': 'new topic that the store contains',
  'topic mix': 'other mix of covered topics, factors of exp(z)',
};

/** @param worlds one for each comparison */
export async function lookCell(
  worlds: Iterable<World>,
  change: LookChange,
  size: LookSize,
  seed: number,
): Promise<LookCell> {
  const looks: { readonly density: number; readonly isCalled: boolean }[] = [];
  let name = '';
  for (const world of worlds) {
    name = world.name;
    looks.push(await look(world, change, size, randomNumbers(seed + looks.length)));
  }
  const share = 'share' in change ? `, ${Math.round(100 * change.share)} %` : '';
  return {
    world: name,
    change: `${names[change.kind]}${share}`,
    ...size,
    alpha: ALPHA,
    draws: looks.length,
    density: Math.exp(mean(looks.map(({ density }) => Math.log(density)))),
    called: shareWithBounds(looks.filter(({ isCalled }) => isCalled).length, looks.length),
  };
}

async function look(world: World, change: LookChange, size: LookSize, random: RandomNumbers) {
  const { vectors, store } = world;
  const draw = drawnFrom(world, random);
  const reference = Array.from({ length: size.reference }, () => draw(world.asked));
  const added = 'share' in change ? topicOf(world, change.kind, random) : null;
  const mixed =
    change.kind === 'topic mix'
      ? world.asked.map((one) => ({ ...one, share: one.share * Math.exp(change.spread * random.normal()) }))
      : world.asked;
  const share = 'share' in change ? change.share : 0;
  const current = Array.from({ length: size.current }, () =>
    added !== null && random.uniform() < share ? draw([{ topic: added, share: 1 }]) : draw(mixed),
  );
  const { density, coverage } = await compareCoverage({
    chunks: store,
    reference: selectRows(vectors, reference),
    current: selectRows(vectors, current),
    sessions: Uint32Array.from(current, (_, i) => i),
    score: { name: 'top-1-less-mean' },
    regions: null,
    alpha: ALPHA,
    seed: 1,
    signal: new AbortController().signal,
    showProgress: () => undefined,
  });
  return { density: density.density, isCalled: coverage.verdict === 'worse_covered' };
}

/** Returns a topic that no baseline query is about. */
function topicOf({ uncovered, unasked }: World, kind: 'uncovered' | 'new and held', random: RandomNumbers): number {
  const topics = kind === 'uncovered' ? uncovered.map(({ topic }) => topic) : unasked;
  return topics[random.below(topics.length)] ?? -1;
}

/**
 * Returns a function that samples a topic in proportion to its share of the traffic, and then samples one of the
 * topic's queries with equal probability.
 */
function drawnFrom({ topics }: World, random: RandomNumbers) {
  const questions = new Map<number, number[]>();
  for (const [question, topic] of topics.entries()) questions.set(topic, [...(questions.get(topic) ?? []), question]);
  return (asked: readonly { readonly topic: number; readonly share: number }[]): number => {
    const total = asked.reduce((sum, { share }) => sum + share, 0);
    let at = random.uniform() * total;
    const chosen = asked.find(({ share }) => (at -= share) < 0) ?? asked[0];
    const own = questions.get(chosen?.topic ?? -1) ?? [];
    return own[random.below(own.length)] ?? 0;
  };
}
