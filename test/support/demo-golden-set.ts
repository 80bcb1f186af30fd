import { readDemoAnswers, readDemoQuestions } from '../../src/demo/rag/corpus.ts';

/** A demo query and the document that answers it. */
export interface JudgedQuestion {
  readonly text: string;
  readonly document: string;
}

/** Returns `count` demo queries, evenly spaced over the articles. */
export async function demoQuestions(count: number): Promise<JudgedQuestion[]> {
  const [questions, answers] = await Promise.all([readDemoQuestions(), readDemoAnswers()]);
  const step = Math.floor(questions.length / count);
  return questions
    .filter((_, index) => index % step === 0)
    .slice(0, count)
    .map(({ id, text }) => ({ text, document: answers.get(id) ?? '' }));
}

/** Returns the queries as a golden set in CSV. */
export function goldenCsv(questions: readonly JudgedQuestion[]): string {
  const rows = questions.map(({ text, document }) => `"${text.replaceAll('"', '""')}","${document}"`);
  return ['question,document', ...rows].join('\n');
}
