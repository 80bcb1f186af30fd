import { around, bySize, type FaultKind, someTexts } from '../fault.ts';

export const kind: FaultKind = {
  name: 'cached-answers',
  title: 'a cache returns the answers of other queries',
  causes: ['foreign_answers', 'random_answers'],
  begin({ size, random, material }) {
    const isHurt = someTexts(random, around(random, bySize(size, 0.12, 0.3, 0.7)));
    const asked = [...material.golden, ...material.live];
    const others = new Map<string, string>();
    const otherOf = (text: string): string => {
      const other = others.get(text) ?? asked[random.below(asked.length)]?.text ?? text;
      others.set(text, other);
      return other;
    };
    return {
      search: (search) => (one) => (isHurt(one.text) ? search({ ...one, text: otherOf(one.text) }) : search(one)),
    };
  },
};
