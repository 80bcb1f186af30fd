/**
 * Faults that affect the returned texts (wrong cache entries, truncated texts, duplicates), queries of one kind, or
 * judgments.
 */
import { queryKinds } from '../../src/core/text/query-kinds.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Question } from './corpus.ts';
import { among, between, type Fault, isIn, some } from './fault.ts';

export const ofTexts: readonly Fault[] = [
  {
    name: 'foreign answers',
    does: "a cache with a wrong key returns another query's results for 15 to 70 % of the queries",
    cause: 'foreign_answers',
    breakIt: ({ golden }, random) => {
      const share = between(random, 0.15, 0.7);
      const sources = golden.filter(() => isIn(random, between(random, 0.05, 0.3)));
      if (sources.length < 3) return null;
      const sourceOf = new Map(golden.flatMap(({ id }) => (isIn(random, share) ? [[id, among(random, sources)]] : [])));
      return { answersOf: ({ query }) => sourceOf.get(query.id) ?? query };
    },
  },
  {
    name: 'truncated texts',
    does: 'chunks are re-indexed under the same ids with only 15 to 60 % of their texts',
    cause: 'damaged_texts',
    breakIt: ({ chunks, traffic }, random) => {
      if (!traffic.hasTexts) return null;
      const share = between(random, 0.15, 0.6);
      const cut = chunks.map((chunk) => ({
        ...chunk,
        vector: chunk.vector.map((value) => (isIn(random, share + 0.2) ? value : 0)),
      }));
      return { chunks: cut, textShare: share };
    },
  },
  {
    name: 'fewer results',
    does: 'a smaller top_k leaves 20 to 45 % of the results, for all queries or only for live queries',
    cause: 'cut_off_answers',
    breakIt: ({ k, liveQueries }, random) => {
      const left = Math.max(1, Math.round(between(random, 0.2, 0.45) * k));
      return liveQueries === 0 || isIn(random, 0.5)
        ? { results: (ids) => ids.slice(0, left) }
        : { liveResults: left / k };
    },
  },
  {
    name: 'duplicate results',
    does: 'result lists contain each result twice, or documents were indexed twice under different ids',
    cause: 'duplicate_results',
    breakIt: ({ chunks, traffic }, random) => {
      if (isIn(random, 0.5)) return { results: (ids) => ids.flatMap((id) => [id, id]) };
      if (!traffic.hasTexts) return null;
      const twice = some(chunks, between(random, 0.4, 1), random);
      return {
        chunks: chunks.flatMap((chunk) => (twice.has(chunk.id) ? [chunk, { ...chunk, id: `${chunk.id}+` }] : [chunk])),
      };
    },
  },
  {
    name: 'one kind of query',
    does: 'queries with one script, language, length or trait get wrong results, no results or errors',
    cause: 'one_kind_of_query',
    breakIt: ({ golden, chunks }, random) => {
      const hurt = drawKind(golden, random);
      if (hurt === null) return null;
      const way = random.below(3);
      if (way === 0) return { results: (ids, { query }) => (hurt.has(query.id) ? [] : ids) };
      if (way === 1)
        return { failure: ({ query }) => (hurt.has(query.id) ? among(random, ['http_500', 'timeout']) : null) };
      return {
        results: (ids, { query, random: drawn }) => (hurt.has(query.id) ? ids.map(() => among(drawn, chunks).id) : ids),
      };
    },
  },
  {
    name: 'labels wrong from the start',
    does: '30 to 70 % of the judgments are wrong in every run, although users like the answers',
    cause: 'golden_labels',
    breakIt: ({ traffic, liveQueries }, random) => {
      if (traffic.opinions === 0 || liveQueries === 0) return null;
      const share = between(random, 0.3, 0.7);
      const wrong = new Map<string, boolean>();
      const isWrong = ({ id }: Question): boolean => {
        const known = wrong.get(id) ?? isIn(random, share);
        wrong.set(id, known);
        return known;
      };
      return {
        alwaysGolden: (queries) =>
          queries.map((query, i) =>
            isWrong(query) ? { ...query, judgments: queries[(i + 7) % queries.length]?.judgments ?? [] } : query,
          ),
      };
    },
  },
];

/** Returns the ids of the queries of one randomly chosen kind that is neither rare nor frequent. */
function drawKind(golden: readonly Question[], random: RandomNumbers): ReadonlySet<string> | null {
  const kinds = queryKinds(golden.map(({ text }) => text)).filter(
    ({ members }) => members.length >= 10 && members.length <= 0.6 * golden.length,
  );
  if (kinds.length === 0) return null;
  return new Set(among(random, kinds).members.map((place) => golden[place]?.id ?? ''));
}
