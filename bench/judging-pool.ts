/**
 * How far nDCG over the pool of judged documents is from nDCG on full judgments, with the data of the demo: the ideal order
 * of the one is that of the graded documents, that of the other is of all that there are.
 *
 *     npx tsx bench/judging-pool.ts
 */

import { readDemoAnswers, readDemoDocuments, readDemoQuestions } from '../src/demo/rag/corpus.ts';
import { chooseDroppedIds } from '../src/demo/rag/fault.ts';
import { knownGrade } from '../src/demo/rag/known-grades.ts';
import { readSentenceVectors } from '../src/demo/rag/sentence-vectors.ts';
import { evaluateRanking } from '../src/ir/evaluate.ts';
import { judgedScores, RELEVANT_GRADE } from '../src/judging/rules/judged-scores.ts';
import { mean, meanInterval } from '../src/stats/descriptive.ts';
import { dotProduct } from '../src/vector/matrix.ts';

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
/** Of each question, all documents, the nearest first. */
const ranked = questions.map(({ id, text }) => {
  const asked = vectorOf(text) ?? new Float32Array();
  const nearest = embedded
    .map((one) => ({ id: one.id, similarity: dotProduct(asked, one.vector) }))
    .toSorted((a, b) => b.similarity - a.similarity)
    .map((one) => one.id);
  return { answer: answers.get(id) ?? '', nearest };
});

type Answers = (nearest: readonly string[]) => readonly string[];

/** What users are shown. */
const services: readonly (readonly [string, Answers])[] = [
  ['healthy', (nearest) => nearest],
  ['the best ten in reverse order', (nearest) => nearest.slice(0, 10).toReversed()],
  ['a third of the passages is gone', (nearest) => nearest.filter((id) => !dropped.has(id))],
];
const grades = [
  ['the answer alone', (document: string, answer: string) => (document === answer ? 3 : 0)],
  ['the answer, and 1 for its article', knownGrade],
] as const;

console.log('| Grades | Service | nDCG@5 in full | of the pool | Difference | The answer is not in the pool |');
console.log('| --- | --- | --- | --- | --- | --- |');
for (const [graded, gradeOf] of grades) {
  for (const [service, answer] of services) {
    const scores = ranked.map(({ answer: right, nearest }) => {
      const shown = answer(nearest).slice(0, DEPTH);
      const judgments = new Map(documents.map(({ id }) => [id, gradeOf(id, right)]));
      const [full = 0] = evaluateRanking(shown, judgments, [{ measure: 'ndcg', k: DEPTH }], RELEVANT_GRADE);
      const pool = judgedScores(
        shown.map((id) => gradeOf(id, right)),
        DEPTH,
      ).ndcg;
      return { full, pool, isMissing: !shown.includes(right) };
    });
    const differences = scores.map(({ full, pool }) => pool - full);
    const { low, high } = meanInterval(differences, CONFIDENCE);
    const cells = [
      graded,
      service,
      mean(scores.map(({ full }) => full)).toFixed(3),
      mean(scores.map(({ pool }) => pool)).toFixed(3),
      `${mean(differences).toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`,
      `${((100 * scores.filter(({ isMissing }) => isMissing).length) / scores.length).toFixed(0)} %`,
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
}
