import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Block } from '../../../../src/golden/trec/blocks.ts';
import type { QueryRows } from '../../../../src/golden/trec/document-rows.ts';
import { ResultTable } from '../../../../src/golden/trec/result-table.ts';
import { JudgmentTable } from '../../../../src/golden/trec/tables.ts';
import { applyDuplicatePolicy, orderLikeTrecEval } from '../../../../src/math/ir/ranking.ts';

type Row = readonly [query: string, id: string, score: number];

/** Ranks, keyed by score. The ranks contradict the order of the scores. Rows with other scores have no rank. */
const RANK_OF = new Map([
  [1, 2],
  [1.5, 3],
]);

/** A table in which each row is in a separate block. */
function tableOf(rows: readonly Row[]): ResultTable {
  const table = new ResultTable();
  for (const [query, id, score] of rows) {
    const block = new Block(Buffer.from(`${query} ${id}`), 'file', 1);
    const end = Buffer.byteLength(query);
    const ids = { queryStart: 0, queryEnd: end, start: end + 1, end: block.bytes.length };
    table.add(block, ids, score, RANK_OF.get(score) ?? 0);
  }
  return table;
}

/** The judgments of one query. */
function judgmentsOf(grades: ReadonlyMap<string, number>): { judgments: JudgmentTable; query: QueryRows } {
  const judgments = new JudgmentTable(0);
  for (const [id, grade] of grades) {
    const block = new Block(Buffer.from(`q ${id}`), 'file', 1);
    judgments.add(block, 1, { queryStart: 0, queryEnd: 1, start: 2, end: block.bytes.length }, grade);
  }
  return { judgments, query: judgments.queries.get('q') ?? [] };
}

it('the ranking of a query has the same grades, duplicates and ties as a ranking of its ids as strings', () => {
  const anId = fc.oneof(fc.constantFrom('a', 'ab', 'é', '～', '😀', 'd10', 'd1'), fc.string({ unit: 'grapheme' }));
  const aRow = fc.tuple(fc.constantFrom('q1', 'q2'), anId, fc.constantFrom(0, -0, 1, 1.5, -2));
  const someJudgments = fc.uniqueArray(fc.tuple(anId, fc.integer({ min: -1, max: 3 })), { selector: ([id]) => id });
  fc.assert(
    fc.property(fc.array(aRow, { maxLength: 40 }), someJudgments, fc.boolean(), (rows, judged, collapses) => {
      const table = tableOf(rows);
      const grades = new Map(judged);
      const { judgments, query: judgedQuery } = judgmentsOf(grades);
      for (const query of ['q1', 'q2', 'q3']) {
        const own = rows.filter(([of]) => of === query);
        const ranked = table.rank(query, judgments, judgedQuery, collapses);
        const { ids, scores } = orderLikeTrecEval({
          ids: own.map(([, id]) => id),
          scores: own.map(([, , score]) => score),
        });
        const { ranking, duplicates } = applyDuplicatePolicy(ids, collapses ? 'collapse' : 'occupy');
        const expected = ranking.map((id) => (id === null ? -1 : (grades.get(id) ?? -1)));
        const scoreTies = ids.filter((id, i) => i > 0 && scores[i] === scores[i - 1] && id !== ids[i - 1]).length;
        const rankSteps = scores.slice(1).flatMap((score, i) => {
          const before = scores[i] ?? 0;
          return score === before ? [] : [(RANK_OF.get(score) ?? 0) - (RANK_OF.get(before) ?? 0)];
        });
        expect({ ...ranked, grades: [...ranked.grades].slice(0, ranked.length) }).toEqual({
          grades: expected,
          length: ranking.length,
          judgedFound: expected.filter((grade) => grade >= 0).length,
          duplicates,
          scoreTies,
          ranksAgree: rankSteps.filter((step) => step > 0).length,
          ranksDisagree: rankSteps.filter((step) => step < 0).length,
        });
      }
    }),
    { numRuns: 500 },
  );
});

it('many documents in any order are ranked like their ids as strings, even with nearly equal scores', () => {
  const aScore = fc.oneof(
    fc.constantFrom(0, -0, 1, 1 + Number.EPSILON, -1),
    fc.double({ noNaN: true, min: -9, max: 9 }),
  );
  const someRows = fc.array(aScore, { minLength: 100, maxLength: 300 });
  fc.assert(
    fc.property(someRows, (scores) => {
      const rows = scores.map((score, i): Row => ['q', `d${(i * 7919) % 1009}`, score]);
      const grades = new Map(rows.map(([, id], i) => [id, i]));
      const { judgments, query } = judgmentsOf(grades);
      const ranked = tableOf(rows).rank('q', judgments, query, true);
      const { ids } = orderLikeTrecEval({ ids: rows.map(([, id]) => id), scores });
      expect([...ranked.grades].slice(0, ranked.length)).toEqual(ids.map((id) => grades.get(id)));
    }),
    { numRuns: 50 },
  );
});

it('a ranking does not depend on earlier rankings, nor on the number of documents and judgments', () => {
  const many = Array.from({ length: 700 }, (_, i): Row => ['many', `d${i % 600}`, 1000 - i]);
  const table = tableOf([...many, ['few', 'd1', 1]]);
  const gradeOf = new Map(Array.from({ length: 2000 }, (_, i) => [`d${3 * i}`, i % 4]));
  const { judgments, query: judged } = judgmentsOf(gradeOf);
  const gradesOf = (query: string) => {
    const { grades, length, ...counts } = table.rank(query, judgments, judged, true);
    return { grades: [...grades].slice(0, length), ...counts };
  };
  const grades = Array.from({ length: 600 }, (_, i) => gradeOf.get(`d${i}`) ?? -1);
  for (let round = 0; round < 2; round++) {
    expect(gradesOf('many')).toMatchObject({ grades, judgedFound: 200, duplicates: 100, scoreTies: 0 });
    expect(gradesOf('few')).toMatchObject({ grades: [-1], judgedFound: 0, duplicates: 0, scoreTies: 0 });
  }
});

it('the results of a query in any order are ranked by score, whether or not their ranks agree', () => {
  const anOrder = (length: number) => fc.shuffledSubarray([...Array(length).keys()], { minLength: length });
  const aQuery = fc
    .integer({ min: 2, max: 60 })
    .chain((length) => fc.tuple(anOrder(length), anOrder(length), fc.boolean()));
  fc.assert(
    fc.property(aQuery, fc.integer({ min: 0, max: 1 }), ([order, others, isRight], first) => {
      const table = new ResultTable();
      for (const place of order) {
        const block = new Block(Buffer.from(`q d${place}`), 'file', 1);
        const rank = first + (isRight ? place : (others[place] ?? 0));
        table.add(block, { queryStart: 0, queryEnd: 1, start: 2, end: block.bytes.length }, -place, rank);
      }
      const grades = new Map(order.map((place) => [`d${place}`, place]));
      const { judgments, query } = judgmentsOf(grades);
      const ranked = table.rank('q', judgments, query, false);
      expect([...ranked.grades.subarray(0, ranked.length)]).toEqual([...order.keys()]);
    }),
  );
});
