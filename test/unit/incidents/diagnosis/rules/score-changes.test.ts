import { array, assert, boolean, constantFrom, integer, property } from 'fast-check';
import { expect, it } from 'vitest';
import { type KeptResult, scoreChanges } from '../../../../../src/incidents/diagnosis/rules/score-changes.ts';

const DEPTH = 10;
/** 40 queries, each with ten of 50 documents; the score depends on both the query and the document. */
const results: readonly KeptResult[] = Array.from({ length: 400 }, (_, at) => {
  const [query, document] = [Math.floor(at / DEPTH), (at * 7) % 50];
  const score = 0.4 + ((query * 31 + document * 17) % 97) / 200;
  return { query: `q${query}`, document: `d${document}`, before: score, now: score };
});

function rescored(isHit: (result: KeptResult, at: number) => boolean): KeptResult[] {
  return results.map((result, at) => (isHit(result, at) ? { ...result, now: 2 * result.before } : result));
}

it('finds no change if the retriever returns the same scores, up to small differences', () => {
  expect(scoreChanges(results, DEPTH)).toMatchObject({ results: 400, changed: 0, byQuery: null, byDocument: null });
  const nearly = results.map((result) => ({ ...result, now: 1.03 * result.before }));
  expect(scoreChanges(nearly, DEPTH)).toMatchObject({ changed: 0 });
});

it('attributes changed scores to documents if they change for each query that returns these documents', () => {
  const changes = scoreChanges(
    rescored(({ document }) => Number(document.slice(1)) < 15),
    DEPTH,
  );
  expect(changes?.changed).toBeCloseTo(0.3, 1);
  expect(changes?.byDocument).toBe(1);
  expect(changes?.byQuery).toBeLessThan(0.2);
});

it('attributes changed scores to queries if all scores of these queries change', () => {
  const changes = scoreChanges(
    rescored(({ query }) => Number(query.slice(1)) < 12),
    DEPTH,
  );
  expect(changes?.byQuery).toBe(1);
  expect(changes?.byDocument).toBeLessThan(0.2);
});

it('attributes scattered changes to neither', () => {
  const changes = scoreChanges(
    rescored((_, at) => (at * at + 3 * at) % 11 < 4),
    DEPTH,
  );
  expect(changes?.byQuery).toBeLessThan(0.3);
  expect(changes?.byDocument).toBeLessThan(0.3);
});

it('returns null for scores that only encode the rank, and for too few results', () => {
  const ranks = results.map((result, at) => ({ ...result, before: 1 / (60 + (at % DEPTH)), now: 0 }));
  expect(scoreChanges(ranks, DEPTH)).toBeNull();
  expect(scoreChanges(results.slice(0, 20), DEPTH)).toBeNull();
});

it('returns an agreement of at most 1, whatever changes', () => {
  assert(
    property(
      array(boolean(), { minLength: 400, maxLength: 400 }),
      constantFrom(2, -1),
      integer({ min: 1, max: 5 }),
      (hits, times, size) => {
        const changes = scoreChanges(
          results.map((result, at) => ({
            ...result,
            before: size * result.before,
            now: size * result.before * (hits[at] === true ? times : 1),
          })),
          DEPTH,
        );
        expect(changes?.changed).toBeCloseTo(hits.filter(Boolean).length / 400);
        for (const agreement of [changes?.byQuery, changes?.byDocument]) expect(agreement ?? 0).toBeLessThanOrEqual(1);
      },
    ),
    { numRuns: 30 },
  );
});
