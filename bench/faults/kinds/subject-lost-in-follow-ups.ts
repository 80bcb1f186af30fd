import { around, bySize, type FaultKind } from '../fault.ts';
import { wordsOf } from '../search.ts';
import { blend } from '../vectors.ts';

/** Share of a question's words that name its subject, which the previous turn has already named. */
const SUBJECT = 0.3;
/** Weight of the missing subject in the vector of a question. */
const LOSS = 0.75;

export const kind: FaultKind = {
  name: 'subject-lost-in-follow-ups',
  title: 'the step that completes follow-up questions is off, so that they reach the search without their subject',
  causes: ['query_rewriting', 'unlike_golden', 'live_traffic'],
  // Without their subjects, all questions of LIMIT are the same.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.17, 0.4, 0.75));
    const counts = new Map<string, number>();
    for (const { text } of material.rows)
      for (const word of new Set(wordsOf(text))) counts.set(word, (counts.get(word) ?? 0) + 1);
    const originals = new Map<string, string>();
    // Users name the subject once, so the words that few documents contain are missing from the next question.
    const followUp = (text: string): string => {
      const words = wordsOf(text);
      const rarest = words.toSorted((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0));
      const subject = new Set(rarest.slice(0, Math.max(1, Math.round(SUBJECT * words.length))));
      const left = words.filter((word) => !subject.has(word)).join(' ');
      return left === '' ? text : `${left}?`;
    };
    return {
      traffic: (draw) => () => {
        const ask = draw();
        if (random.uniform() >= share) return ask;
        const text = followUp(ask.text);
        originals.set(text, ask.text);
        return { ...ask, text };
      },
      embed: (embed) => (text) => {
        const original = originals.get(text);
        return original === undefined ? embed(text) : blend(embed(original), embed(text), LOSS);
      },
    };
  },
};
