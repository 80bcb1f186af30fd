/**
 * Compares nDCG over a pool of judged documents with nDCG over complete judgments, on the demo data. nDCG over the pool
 * is relative to the ideal order of the judged documents; nDCG over complete judgments is relative to the ideal order
 * of all documents. Also measures the benefit of judging not only the retrieved documents, but also the stored
 * documents nearest to the query.
 *
 *     npx tsx bench/judging-pool.ts
 */

import { readDemoAnswers, readDemoDocuments, readDemoQuestions, readSentenceVectors } from '../src/demo/rag/corpus.ts';
import { chooseDroppedIds } from '../src/demo/rag/fault.ts';
import { knownGrade } from '../src/demo/rag/stand-in-judge.ts';
import { judgedScores, RELEVANT_GRADE } from '../src/judging/rules/judged-scores.ts';
import { evaluateRanking } from '../src/math/ir/evaluate.ts';
import { mean, meanInterval } from '../src/math/stats/descriptive.ts';
import { dotProduct } from '../src/math/vector/matrix.ts';

const DEPTH = 5;
const CONFIDENCE = 0.95;

const [documents, questions, answers, vectorOf] = await Promise.all([
  readDemoDocuments(),
  readDemoQuestions(),
  readDemoAnswers(),
  readSentenceVectors(),
]);
const embedded = documents.map(({ id, text }) => ({ id, vector: vectorOf(text) ?? new Float32Array() }));
const dropped = new Set(chooseDroppedIds(documents.map(({ id }) => id)));
/** For each query: its answer, and the ids of all documents, nearest first. */
const ranked = questions.map(({ id, text }) => {
  const asked = vectorOf(text) ?? new Float32Array();
  const nearest = embedded
    .map((one) => ({ id: one.id, similarity: dotProduct(asked, one.vector) }))
    .toSorted((a, b) => b.similarity - a.similarity)
    .map((one) => one.id);
  return { answer: answers.get(id) ?? '', nearest };
});

type Answers = (nearest: readonly string[]) => readonly string[];

interface Service {
  readonly name: string;
  /** Returns the documents in the store, nearest first. */
  readonly held: Answers;
  /** Returns the documents in the store that the service retrieves, best first. */
  readonly shown: Answers;
}

const all: Answers = (nearest) => nearest;
const services: readonly Service[] = [
  { name: 'healthy', held: all, shown: all },
  { name: 'the best ten in reverse order', held: all, shown: (nearest) => nearest.slice(0, 10).toReversed() },
  { name: 'a third of the passages is gone', held: (nearest) => nearest.filter((id) => !dropped.has(id)), shown: all },
];
/**
 * Numbers of stored documents that are judged in addition to the retrieved documents, nearest to the query first; the
 * table has one column for each number.
 */
const DEEPER = [10, 20, 50];
const grades = [
  ['the answer alone', (document: string, answer: string) => (document === answer ? 3 : 0)],
  ['the answer, and 1 for its article', knownGrade],
] as const;

const columns = ['in full', 'of the pool', ...DEEPER.map((count) => `and the ${count} nearest`)];
console.log(
  `| Grades | Service | nDCG@${DEPTH} ${columns.join(' | ')} | Difference of the pool | The answer is not in the pool |`,
);
console.log(`|${' --- |'.repeat(columns.length + 4)}`);
for (const [graded, gradeOf] of grades) {
  for (const { name, held, shown: shownOf } of services) {
    const scores = ranked.map(({ answer: right, nearest }) => {
      const inStore = held(nearest);
      const shown = shownOf(inStore).slice(0, DEPTH);
      const ndcgOf = (judged: readonly string[]): number => {
        const judgments = new Map(judged.map((id) => [id, gradeOf(id, right)]));
        return evaluateRanking(shown, judgments, [{ measure: 'ndcg', k: DEPTH }], RELEVANT_GRADE)[0] ?? 0;
      };
      const pool = judgedScores(
        shown.map((id) => gradeOf(id, right)),
        DEPTH,
      ).ndcg;
      return {
        ndcg: [
          ndcgOf(documents.map(({ id }) => id)),
          pool,
          ...DEEPER.map((count) => ndcgOf([...shown, ...inStore.slice(0, count)])),
        ],
        isMissing: !shown.includes(right),
      };
    });
    const differences = scores.map(({ ndcg: [full = 0, pool = 0] }) => pool - full);
    const { low, high } = meanInterval(differences, CONFIDENCE);
    const cells = [
      graded,
      name,
      ...columns.map((_, column) => mean(scores.map(({ ndcg }) => ndcg[column] ?? 0)).toFixed(3)),
      `${mean(differences).toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`,
      `${((100 * scores.filter(({ isMissing }) => isMissing).length) / scores.length).toFixed(0)} %`,
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
}
