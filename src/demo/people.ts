/** People who grade what was drawn for them, as the known judgments have it. */
import type { TimeLapse } from '../app/time-lapse.ts';
import { RecalldError } from '../errors.ts';
import { PIPELINE } from './demo-config.ts';
import { readDemoAnswers } from './rag/corpus.ts';
import { knownGrade } from './rag/stand-in-judge.ts';
import { questionOf } from './traffic.ts';

const PERSON = 'demo';
/** More than are drawn for people in an hour. */
const MAX_QUERIES = 100;

/** By the API, as a program of theirs would. @throws RecalldError demo_failed, and as readDemoAnswers */
export async function gradeAsPeople({ reviews, url }: Pick<TimeLapse, 'reviews' | 'url'>): Promise<void> {
  const answers = await readDemoAnswers();
  const open = await reviews.next(PIPELINE, PERSON, MAX_QUERIES);
  const judgments = open.flatMap(({ id, documents }) =>
    documents.map((document) => ({
      query_id: id,
      pipeline: PIPELINE,
      document_id: document.id,
      grade: knownGrade(document.id, answers.get(questionOf(id)) ?? ''),
      person: PERSON,
    })),
  );
  if (judgments.length === 0) return;
  const response = await fetch(`${url}/v1/judgments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(judgments),
  });
  if (!response.ok)
    throw new RecalldError('demo_failed', `Grades of people were refused with status ${response.status}.`);
}
