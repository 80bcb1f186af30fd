/** The questions of the demo, divided: those with known answers that golden runs ask, and those that people ask. */
import { drawn } from '../stats/random.ts';
import { type DemoQuestion, readDemoAnswers, readDemoQuestions } from './rag/corpus.ts';
import { isOfMissingArticle } from './rag/fault.ts';

export interface AnsweredQuestion extends DemoQuestion {
  /** Id of the document that answers it. */
  readonly document: string;
}

export interface DividedQuestions {
  readonly golden: readonly AnsweredQuestion[];
  /** What people ask, by article; none of them is in the golden set. */
  readonly live: readonly (readonly AnsweredQuestion[])[];
  /** About the article that the store can do without; nobody labelled them. */
  readonly missing: readonly AnsweredQuestion[];
}

const GOLDEN = 300;
const SEED = 1;

/** The same division in every run. @throws RecalldError when the data of the demo cannot be read */
export async function divideQuestions(): Promise<DividedQuestions> {
  const [questions, answers] = await Promise.all([readDemoQuestions(), readDemoAnswers()]);
  const answered = questions.map((question) => ({ ...question, document: answers.get(question.id) ?? '' }));
  const missing = answered.filter(({ document }) => isOfMissingArticle(document));
  const others = answered.filter(({ document }) => !isOfMissingArticle(document));
  const golden = drawn(others, GOLDEN, SEED);
  const labelled = new Set(golden.map(({ id }) => id));
  const live = new Map<string, AnsweredQuestion[]>();
  for (const question of others.filter(({ id }) => !labelled.has(id))) {
    const [article = ''] = question.document.split('/');
    live.set(article, [...(live.get(article) ?? []), question]);
  }
  return { golden, live: [...live.values()], missing };
}
