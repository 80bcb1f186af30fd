/** Faults of the traffic and of the generated answers; the retriever is healthy. */
import { between, type Fault } from './fault.ts';

export const ofTraffic: readonly Fault[] = [
  {
    name: 'generator',
    does: 'positive feedback drops by 15 to 50 points, although retrieval did not change',
    cause: 'generator',
    breakIt: ({ traffic, liveQueries }, random) =>
      traffic.opinions === 0 || liveQueries === 0 ? null : { lessPositive: between(random, 0.15, 0.5) },
  },
  {
    name: 'flood',
    does: 'one query makes up 20 to 80 % of live traffic',
    cause: 'repeated_query',
    breakIt: ({ liveQueries }, random) => (liveQueries === 0 ? null : { topQuery: between(random, 0.2, 0.8) }),
  },
  {
    name: 'another language',
    does: '20 to 70 % of live queries are in another language, which the store covers poorly',
    cause: 'other_language',
    breakIt: ({ liveQueries }, random) => {
      if (liveQueries === 0) return null;
      const share = between(random, 0.2, 0.7);
      return { otherLanguage: share, newTopic: between(random, 0.3, 1) * share };
    },
  },
];
