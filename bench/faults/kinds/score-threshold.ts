import { bySize, type FaultKind } from '../fault.ts';
import type { Search } from '../search.ts';

/** Number of queries from which the distribution of scores is estimated. */
const SAMPLE = 60;

export const kind: FaultKind = {
  name: 'score-threshold',
  title: 'a minimum score that is too high cuts hits off, so that lists are short or empty',
  causes: ['cut_off_answers', 'empty_lists'],
  begin({ size, random, material }) {
    const cut = bySize(size, 0.76, 0.86, 0.93) + 0.04 * (random.uniform() - 0.5);
    let threshold: number | null = null;
    const thresholdOf = (search: Search): number => {
      const scores = material.live
        .slice(0, SAMPLE)
        .flatMap(({ text }) => search({ text, k: 10, segments: {}, origin: 'live' }).map(({ score }) => score))
        .toSorted((a, b) => a - b);
      return scores[Math.floor(cut * scores.length)] ?? 0;
    };
    return {
      search: (search) => (asked) => {
        const least = (threshold ??= thresholdOf(search));
        return search(asked).filter(({ score }) => score >= least);
      },
    };
  },
};
