import { groupBy } from '../../../src/core/group-by.ts';
import { hashText } from '../../../src/demo/rag/hashed-tfidf.ts';
import { around, bySize, type FaultKind } from '../fault.ts';
import { wordsOf } from '../search.ts';
import { blend } from '../vectors.ts';

/** The speech recognizer knows only words that occur in at least this many chunks. */
const COMMON = 6;

export const kind: FaultKind = {
  name: 'voice-transcripts',
  title: 'users begin to speak to the assistant, and the transcripts have other words for names and rare terms',
  causes: ['unlike_golden', 'live_traffic'],
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random, material }) {
    const share = around(random, bySize(size, 0.3, 0.55, 0.8));
    const counts = new Map<string, number>();
    for (const { text } of material.rows)
      for (const word of new Set(wordsOf(text))) counts.set(word, (counts.get(word) ?? 0) + 1);
    const known = [...counts].flatMap(([word, count]) => (count >= COMMON ? [word] : []));
    const byStart = groupBy(known, (word) => word.slice(0, 2));
    const heard = (word: string): string => {
      if ((counts.get(word) ?? 0) >= COMMON) return word;
      const alike = byStart.get(word.slice(0, 2)) ?? [];
      return alike[hashText(word, 1) % alike.length] ?? word.slice(0, 2);
    };
    const spoken = new Map<string, { readonly text: string; readonly wrong: string; readonly share: number }>();
    return {
      traffic: (draw) => () => {
        const ask = draw();
        if (random.uniform() >= share) return ask;
        const words = wordsOf(ask.text);
        const after = words.map(heard);
        const text = after.join(' ');
        const wrong = after.filter((word, at) => word !== words[at]).join(' ');
        spoken.set(text, { text: ask.text, wrong, share: wrong.length / Math.max(1, text.length) });
        return { ...ask, text };
      },
      embed: (embed) => (text) => {
        const original = spoken.get(text);
        if (original === undefined) return embed(text);
        const { wrong, share: weight } = original;
        return wrong === '' ? embed(original.text) : blend(embed(original.text), embed(wrong), weight);
      },
    };
  },
};
