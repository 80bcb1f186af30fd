/** Faults of the search service: its index is healthy, but its results are wrong. */
import type { RandomNumbers } from '../random-numbers.ts';
import type { Question } from './corpus.ts';
import { reordered } from './damage.ts';
import { among, between, type Fault, isIn, some } from './fault.ts';

export const ofAnswers: readonly Fault[] = [
  {
    name: 'empty lists',
    does: 'the service swallows an error, so every result list is empty, mostly returned immediately',
    cause: 'empty_lists',
    breakIt: (_, random) => {
      const factor = isIn(random, 0.8) ? between(random, 0.1, 0.5) : 1;
      return { results: () => [], latency: (ms) => factor * ms };
    },
  },
  {
    name: 'filter drops all',
    does: 'a filter drops all documents from every result list',
    cause: 'filter',
    breakIt: () => ({ searched: () => [] }),
  },
  {
    name: 'filter drops some',
    does: 'a filter drops 15 to 70 % of the documents, before or after the search',
    cause: 'filter',
    breakIt: ({ chunks }, random) => {
      const hidden = some(chunks, between(random, 0.15, 0.7), random);
      if (isIn(random, 0.5)) return { results: (ids) => ids.filter((id) => !hidden.has(id)) };
      const left = chunks.filter(({ id }) => !hidden.has(id));
      return { searched: () => left };
    },
  },
  {
    name: 'live filter',
    does: 'a filter that only applies to live traffic leaves 15 to 60 % of live queries without documents',
    cause: 'live_traffic',
    breakIt: (_, random) => ({ liveEmpty: between(random, 0.15, 0.6) }),
  },
  {
    name: 'cut off',
    does: 'result lists contain at most 1 to 3 documents, regardless of the requested k',
    cause: 'cut_off_answers',
    breakIt: (_, random) => {
      const most = 1 + random.below(3);
      return { results: (ids) => ids.slice(0, most) };
    },
  },
  {
    name: 'random documents',
    does: 'each result list consists of random documents',
    cause: 'random_answers',
    breakIt: ({ chunks, k }) => ({
      results: (_, { random: drawn }) => [...new Set(Array.from({ length: k }, () => among(drawn, chunks).id))],
    }),
  },
  {
    name: 'the same for all',
    does: 'every query gets the same documents',
    cause: 'random_answers',
    breakIt: ({ chunks, k }, random) => {
      const always = [...new Set(Array.from({ length: k }, () => among(random, chunks).id))];
      return { results: () => always };
    },
  },
  {
    name: 'order',
    does: 'the order of results changed (reversed, by id, or without the reranker), and no release was annotated',
    cause: 'ranking',
    breakIt: (_, random) => reordered(random),
  },
  {
    name: 'one segment, wrong answers',
    does: 'queries of one segment get documents of other segments',
    cause: 'one_segment',
    breakIt: ({ golden, chunks, segments }, random) => {
      const hurt = hurtSegment(golden, segments, random);
      if (hurt === null) return null;
      const topics = new Set(golden.filter(({ tags }) => tags['tenant'] === hurt).map(({ topic }) => topic));
      const others = chunks.filter(({ topic }) => !topics.has(topic));
      return { searched: ({ query }) => (query.tags['tenant'] === hurt ? others : chunks) };
    },
  },
  {
    name: 'one segment, errors',
    does: 'all or most calls for one segment fail',
    cause: 'one_segment',
    breakIt: ({ golden, segments }, random) => {
      const hurt = hurtSegment(golden, segments, random);
      const share = between(random, 0.7, 1);
      return hurt === null
        ? null
        : {
            failure: ({ query, random: drawn }) =>
              query.tags['tenant'] === hurt && isIn(drawn, share) ? 'http_500' : null,
          };
    },
  },
  {
    name: 'one segment, empty',
    does: 'queries of one segment get no documents',
    cause: 'one_segment',
    breakIt: ({ golden, segments }, random) => {
      const hurt = hurtSegment(golden, segments, random);
      return hurt === null ? null : { results: (ids, { query }) => (query.tags['tenant'] === hurt ? [] : ids) };
    },
  },
];

function hurtSegment(golden: readonly Question[], segments: number, random: RandomNumbers): string | null {
  if (segments < 2) return null;
  const found = `t${random.below(segments)}`;
  return golden.filter(({ tags }) => tags['tenant'] === found).length >= 8 ? found : null;
}
