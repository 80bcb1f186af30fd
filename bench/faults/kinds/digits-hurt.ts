import { bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'digits-hurt',
  title: 'queries with digits or a capital within are answered at random',
  causes: ['one_kind_of_query', 'random_answers'],
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    const pattern = bySize(size, /\d/, /\d| \p{Lu}\w+ \p{Lu}/u, /\d| \p{Lu}/u);
    return {
      search: (search) => (asked) => {
        if (!pattern.test(asked.text)) return search(asked);
        const other = material.live[random.below(material.live.length)];
        return search({ ...asked, text: other?.text ?? asked.text });
      },
    };
  },
};
