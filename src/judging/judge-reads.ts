/** What the page *Judge* shows, and what its forms do. */

import type { Clock } from '../clock.ts';
import { address, pipelinePath } from '../console/links.ts';
import { RecalldError } from '../errors.ts';
import type { Measurements } from '../measures/measurements.ts';
import type { JudgePageData } from './judge-page.tsx';
import type { JudgeSpending } from './judge-spending.ts';
import type { JudgedTable } from './judged-table.ts';
import { PEOPLE_AGREEMENT, recordedAgreement } from './measure-judged.ts';
import type { Grader } from './people-grades.ts';
import type { ReviewQueue } from './review-queue.ts';
import { MAX_GRADE } from './rules/judged-scores.ts';

export interface JudgePageDeps {
  readonly judged: Pick<JudgedTable, 'recordPeople'>;
  readonly reviews: ReviewQueue;
  readonly spending: Pick<JudgeSpending, 'spent'>;
  readonly measurements: Pick<Measurements, 'latest'>;
  readonly clock: Clock;
}

type Fields = Readonly<Record<string, string | undefined>>;

/** An address of more is refused by some servers. */
const MAX_SKIPPED = 50;

function skippedOf(text = ''): string[] {
  return text.split(' ').filter(Boolean).slice(-MAX_SKIPPED);
}

/** @param query `person`: who looks; `query`: the one to show while it has something open; `skip`: those left for later; `last`: what to take back */
export async function readJudgePage(
  { reviews, spending, measurements, clock }: JudgePageDeps,
  pipeline: string,
  isJudged: boolean,
  query: Fields & { readonly person: string },
): Promise<JudgePageData> {
  const { person } = query;
  const now = clock.now();
  const skipped = skippedOf(query['skip']);
  const asked = query['query'] === undefined ? null : await reviews.find(pipeline, person, query['query']);
  const hasOpen = asked?.documents.some(({ isOpen }) => isOpen) === true;
  const [next = null] = hasOpen ? [asked] : await reviews.next(pipeline, person, 1, skipped);
  const [queryId, documentId] = [query['query'], query['last']];
  return {
    pipeline,
    isJudged,
    query: next,
    progress: await reviews.progress(pipeline, person, now),
    peopleAgreement: recordedAgreement(await measurements.latest(now), pipeline, PEOPLE_AGREEMENT),
    costToday: (await spending.spent(pipeline, now)).today,
    skipped,
    last: queryId === undefined || documentId === undefined ? null : { queryId, documentId },
  };
}

/**
 * Stores or takes back a grade.
 *
 * @returns where to go on
 * @throws RecalldError body_unreadable for what is no grade, judgment_unknown for a query that was not drawn
 */
export async function storeGrade(
  { judged, clock }: JudgePageDeps,
  pipeline: string,
  fields: Fields,
  grader: Grader,
): Promise<string> {
  const { query: queryId = '', document: documentId = '', typed = '', skip } = fields;
  const given = fields['grade'] ?? typed;
  const grade = given === 'none' ? null : Number(given);
  if (given === '' || (grade !== null && !(Number.isInteger(grade) && grade >= 0 && grade <= MAX_GRADE)))
    throw new RecalldError('body_unreadable', `A grade is a number from 0 to ${MAX_GRADE}; go back and choose one.`);
  const [isKnown] = await judged.recordPeople(pipeline, [{ queryId, documentId, grade }], grader, clock.now());
  if (isKnown !== true) throw new RecalldError('judgment_unknown', 'This query was not drawn, or has been erased.');
  const last = grade === null ? null : documentId;
  return address(pipelinePath(pipeline, 'judge'), { query: queryId, last, skip: skippedOf(skip).join(' ') });
}
