import { around, bySize, type FaultKind, type LiveAsk } from '../fault.ts';

/** The front end sends no query with fewer characters. */
const SHORTEST = 4;

export const kind: FaultKind = {
  name: 'search-as-you-type',
  title: 'the front end sends queries while users type, so that many live queries are beginnings of queries',
  causes: ['unlike_golden', 'live_traffic'],
  // Almost every beginning of a LIMIT query is the same.
  fits: ({ shape }) => shape.corpus !== 'limit-small',
  begin({ size, random }) {
    // A part of the users has the new front end.
    const share = Math.min(1, around(random, bySize(size, 0.35, 0.65, 1.3)));
    /** Number of beginnings that are sent before each query. */
    const sends = bySize(size, 1, 2, 3);
    const beginningOf = (text: string, send: number): string => {
      const typed = Math.floor((text.length * (send + random.uniform())) / sends);
      return text.slice(0, Math.max(SHORTEST, typed)).trimEnd();
    };
    return {
      volume: 1 + share * sends,
      traffic: (draw) => {
        const waiting: LiveAsk[] = [];
        return () => {
          const next = waiting.shift();
          if (next !== undefined) return next;
          const ask = draw();
          if (random.uniform() >= share) return ask;
          for (let send = 0; send < sends; send++) waiting.push({ ...ask, text: beginningOf(ask.text, send) });
          waiting.push(ask);
          return waiting.shift() ?? ask;
        };
      },
    };
  },
};
