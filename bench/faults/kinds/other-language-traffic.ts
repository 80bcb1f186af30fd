import { readQueries } from '../corpora.ts';
import { around, bySize, type FaultKind } from '../fault.ts';

export const kind: FaultKind = {
  name: 'other-language-traffic',
  title: 'users begin to ask in another language',
  causes: ['other_language', 'unlike_golden'],
  fits: ({ shape }) => shape.encoder === 'minilm' && ['xquad-en', 'xquad-de', 'xquad-es'].includes(shape.corpus),
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.12, 0.3, 0.7));
    const texts = new Map(
      readQueries(material.shape.corpus === 'xquad-de' ? 'xquad-en' : 'xquad-de').map((one) => [one.id, one.text]),
    );
    return {
      traffic: (draw) => () => {
        const ask = draw();
        const text = texts.get(ask.query.id);
        return text === undefined || random.uniform() >= share ? ask : { ...ask, text };
      },
    };
  },
};
