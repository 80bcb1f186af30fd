import { groupBy } from '../../../src/core/group-by.ts';
import { around, bySize, type FaultKind, type LiveAsk } from '../fault.ts';
import { halvesOf } from '../texts.ts';
import { blend } from '../vectors.ts';

export const kind: FaultKind = {
  name: 'history-prepended',
  title: 'the chat sends earlier queries and answers in front of live queries',
  causes: ['live_traffic', 'query_rewriting'],
  begin({ size, random, material }) {
    const share = Math.min(1, around(random, bySize(size, 0.65, 0.85, 1.3)));
    const turns = bySize(size, 1, 2, 3);
    const bySource = groupBy(material.live, ({ source }) => source);
    /** Vectors of conversations. The encoders average over words, so long turns have more weight. */
    const vectors = new Map<string, Float32Array>();
    const withTurn = (text: string, vector: Float32Array, source: string): string => {
      const others = bySource.get(source) ?? [];
      const earlier = others[random.below(others.length)];
      const [answer] = halvesOf(material.texts.get(earlier?.relevant[0] ?? '') ?? '');
      const before = `${earlier?.text ?? ''}\n${answer}`;
      const whole = `${before}\n${text}`;
      vectors.set(whole, blend(vector, material.embed(answer), before.length / whole.length));
      return whole;
    };
    const withHistory = (ask: LiveAsk): LiveAsk => {
      let { text } = ask;
      for (let turn = 0; turn < turns; turn++)
        text = withTurn(text, vectors.get(text) ?? material.embed(text), ask.query.source);
      return { ...ask, text };
    };
    return {
      traffic: (draw) => () => (random.uniform() < share ? withHistory(draw()) : draw()),
      embed: (embed) => (text) => vectors.get(text) ?? embed(text),
    };
  },
};
