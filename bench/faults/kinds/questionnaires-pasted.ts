import { around, bySize, type FaultKind } from '../fault.ts';
import { unit } from '../vectors.ts';

export const kind: FaultKind = {
  name: 'questionnaires-pasted',
  title: 'users paste questionnaires, so that one live query contains several questions on different subjects',
  causes: ['unlike_golden', 'live_traffic'],
  begin({ size, random, material }) {
    const share = Math.min(1, around(random, bySize(size, 0.2, 0.45, 0.8)));
    const questions = bySize(size, 3, 5, 9);
    /** Vectors of questionnaires. The encoders average over words, so each question has a part of the vector. */
    const vectors = new Map<string, Float32Array>();
    return {
      traffic: (draw) => () => {
        const ask = draw();
        if (random.uniform() >= share) return ask;
        const asks = [ask, ...Array.from({ length: questions - 1 }, draw)];
        const text = asks.map((one, at) => `${at + 1}. ${one.text}`).join('\n');
        const parts = asks.map((one) => material.embed(one.text));
        const sum = Array.from(parts[0] ?? [], (_, at) => parts.reduce((so, part) => so + (part[at] ?? 0), 0));
        vectors.set(text, unit(sum));
        // The user rates the answer to one of the questions.
        return { query: asks[random.below(asks.length)]?.query ?? ask.query, text };
      },
      embed: (embed) => (text) => vectors.get(text) ?? embed(text),
    };
  },
};
