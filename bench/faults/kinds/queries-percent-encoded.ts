import { around, bySize, type FaultKind } from '../fault.ts';
import { foreign } from '../foreign-vectors.ts';
import { blend } from '../vectors.ts';

/** Weight of the escapes in the vector of an encoded text. */
const NOISE = 0.78;

export const kind: FaultKind = {
  name: 'queries-percent-encoded',
  title: 'a new version of the client encodes queries twice, so that the search receives percent signs for spaces',
  causes: ['live_traffic', 'unlike_golden'],
  begin({ size, random }) {
    const share = Math.min(1, around(random, bySize(size, 0.3, 0.6, 1.2)));
    const originals = new Map<string, string>();
    return {
      traffic: (draw) => () => {
        const ask = draw();
        if (random.uniform() >= share) return ask;
        const text = encodeURIComponent(ask.text);
        originals.set(text, ask.text);
        return { ...ask, text };
      },
      embed: (embed) => (text) => {
        const original = originals.get(text);
        if (original === undefined) return embed(text);
        const vector = embed(original);
        return blend(vector, foreign(vector, 1), NOISE);
      },
    };
  },
};
