import { around, bySize, type FaultKind } from '../fault.ts';
import { terse } from '../texts.ts';

export const kind: FaultKind = {
  name: 'unlike-golden',
  title: 'users type a few words in place of questions',
  causes: ['unlike_golden'],
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random }) {
    const share = around(random, bySize(size, 0.3, 0.6, 0.85));
    return {
      traffic: (draw) => () => {
        const ask = draw();
        return random.uniform() < share ? { ...ask, text: terse(ask.text) } : ask;
      },
    };
  },
};
