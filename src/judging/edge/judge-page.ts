import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { decimal, dollars, interval, plural } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS } from '../../core/time.ts';
import { measureRow } from '../../measures/rules/measure-table.ts';
import { address, pipelinePath } from '../../report/console/links.ts';
import { shownFrom } from '../../report/model/charts.ts';
import type { Content, Form, PageContent } from '../../report/model/content.ts';
import { measureChart } from '../../report/model/measures.ts';
import {
  badge,
  bounded,
  empty,
  fact,
  facts,
  group,
  heading,
  link,
  list,
  missing,
  paragraph,
  section,
  styledParagraph,
  table,
  verbatim,
} from '../../report/model/show.ts';
import type { Grader } from '../human-judgments.ts';
import type { ReviewedDocument, ReviewedQuery } from '../review-queue.ts';
import { gradeMeanings } from '../rules/judge-prompt.ts';
import { MAX_GRADE } from '../rules/judged-scores.ts';
import { judgeScores, readJudgeStatus } from './judge-status.ts';

type JudgePageData = Awaited<ReturnType<typeof readJudgePage>>;

export function judgePage(data: JudgePageData): PageContent {
  const { pipeline, progress, query, last, skipped } = data;
  return {
    title: 'Judge',
    pipeline,
    section: 'judge',
    hasRange: false,
    content: [
      data.isJudged && section('status', 'Live relevance', {}, statusFacts(data)),
      section(
        'judge',
        'How well do these documents answer the query?',
        { lead: 'Randomly drawn live queries. The documents are not shown in rank order.' },
        progress.drawn > 0 &&
          paragraph(
            { kind: 'progress', value: progress.graded, of: progress.drawn, label: 'Queries graded' },
            ` ${progress.graded} of ${progress.drawn} queries graded`,
          ),
        query === null ? nothing(data) : queryOf(data, query),
        last !== null &&
          gradeForm(data, last.queryId, last.documentId, {
            kind: 'button',
            text: 'Undo the last grade',
            attributes: { class: 'quiet', name: 'grade', value: 'none', accessKey: 'u' },
          }),
        skipped.length > 0 && paragraph(link('Back to postponed queries', pipelinePath(pipeline, 'judge'))),
      ),
      section(
        'grades',
        'Grades',
        { lead: 'The judge model uses the same grade definitions.' },
        table(
          'Meaning of the grades',
          [...gradeMeanings.entries()],
          [
            ['Grade', ([grade]) => grade, 'number'],
            ['Meaning', ([, meaning]) => `The document ${meaning}.`],
          ],
          'compact',
        ),
      ),
      data.isJudged &&
        section(
          'scores',
          'Scores and agreement',
          { lead: 'Scores of all live traffic, estimated from the graded queries, with 95 % CIs.' },
          group(
            'charts',
            judgeCharts.map((measure) =>
              measureChart(measure, data.trends.get(measure) ?? [], {
                from: shownFrom(data.from, data.until, data.trends.get(measure) ?? []),
                until: data.until,
                limits: [0, 1],
                empty: 'No score in the last seven days.',
              }),
            ),
          ),
          group('stack', judgeScores(data.status)),
        ),
    ],
  };
}

const judgeCharts = ['live_hit_rate', 'live_ndcg'] as const;
const CHART_MS = 7 * DAY_MS;

function statusFacts({ status, progress, maxCostPerDay }: JudgePageData): Content {
  const { scores, agreement, costToday } = status;
  const open = progress.drawn - progress.graded;
  return facts(
    ...judgeCharts.map((measure) => {
      const found = scores.find((one) => one.measure === measure);
      return found === undefined
        ? null
        : fact(`${measureRow(measure).title} @${found.k}`, bounded(found, measureRow(measure).scale));
    }),
    fact(
      'Agreement between the judge and people',
      agreement === null ? missing('too few documents graded by both') : decimal(agreement.kappa),
      agreement !== null && `weighted kappa, ${interval(agreement.low, agreement.high)}`,
    ),
    maxCostPerDay === null
      ? null
      : fact('Spent today (UTC)', dollars(costToday), `of ${dollars(maxCostPerDay)} per day`),
    fact(
      'Queue for people',
      plural(open, 'query', 'queries'),
      `${progress.graded} of ${progress.drawn} graded, ${progress.lately} in the last 24 hours`,
    ),
  );
}

function nothing({ isJudged, progress, skipped }: JudgePageData): Content {
  if (!isJudged)
    return empty('No judge is configured for this pipeline.', 'Add `judged` to the pipeline in the config.');
  return empty(
    progress.drawn === 0
      ? 'No live query has been selected for human grading yet.'
      : skipped.length > 0
        ? 'You have postponed all remaining queries.'
        : 'All queries selected for human grading have been graded.',
    'New queries are selected every hour.',
  );
}

function queryOf(data: JudgePageData, query: ReviewedQuery): Content {
  const open = query.documents.find(({ isOpen }) => isOpen);
  const skip = [...data.skipped, query.id].join(' ');
  return [
    heading(3, verbatim(query.text)),
    list(
      'judged',
      query.documents.map((document) => documentOf(data, query.id, document, document === open)),
    ),
    paragraph({ ...link('Postpone', pipelinePath(data.pipeline, 'judge'), { skip }), key: 's' }),
  ];
}

/** @param isNext true for the first ungraded document, to which the access keys apply */
function documentOf(data: JudgePageData, query: string, document: ReviewedDocument, isNext: boolean): Content {
  const { id, text, grade, isFlagged } = document;
  if (text === null) return paragraph('This document is no longer available.');
  const typed: Content = isNext && [
    {
      kind: 'input',
      type: 'text',
      name: 'typed',
      label: 'Grade, then Enter ',
      attributes: { inputMode: 'numeric', pattern: '[0-3]', maxLength: 1, size: 2, autoFocus: true },
    },
    { kind: 'button', text: 'Save' },
  ];
  const buttons = gradeMeanings.map(
    (meaning, value): Content => ({
      kind: 'button',
      text: grade === value ? `✓ ${value}` : String(value),
      attributes: {
        name: 'grade',
        value: String(value),
        title: `${value}: ${meaning}`,
        'aria-pressed': grade === value,
        ...(isNext ? { accessKey: String(value) } : {}),
      },
    }),
  );
  return [
    isFlagged &&
      paragraph(
        badge('flagged', 'warning'),
        ' The query or this document contains text that addresses a grading model. Ignore this text when you grade.',
      ),
    styledParagraph('document', verbatim(text)),
    gradeForm(
      data,
      query,
      id,
      [typed, { kind: 'group', style: 'grades', label: 'Grade', content: buttons }],
      paragraph('Grading needs an API key with the admin scope.'),
    ),
  ];
}

function gradeForm(
  { pipeline, skipped }: JudgePageData,
  query: string,
  document: string,
  content: Content,
  forbidden: Content = null,
): Form {
  const hidden = { query, document, skip: skipped.join(' ') };
  return { kind: 'form', action: `${pipelinePath(pipeline, 'judge')}/grade`, hidden, content, forbidden };
}

type Fields = Readonly<Record<string, string | undefined>>;

/** Maximum number of skipped queries in the URL; some servers refuse long URLs. */
const MAX_SKIPPED = 50;

function skippedOf(text = ''): string[] {
  return text.split(' ').filter(Boolean).slice(-MAX_SKIPPED);
}

/**
 * @param query `person`: the reviewer; `query`: the query to show instead of the next query, if it has an ungraded
 *   document; `skip`: postponed queries; `last`: the document graded last
 */
export async function readJudgePage(
  context: Context,
  pipeline: string,
  isJudged: boolean,
  query: Fields & { readonly person: string },
) {
  const { db, reads, clock, judgingPlans } = context;
  const { reviews } = db.judging;
  const { person } = query;
  const now = clock.now();
  const review = { pipeline, person, now };
  const from = new Date(now.getTime() - CHART_MS);
  const skipped = skippedOf(query['skip']);
  const asked = query['query'] === undefined ? null : await reviews.find(review, query['query']);
  const hasOpen = asked?.documents.some(({ isOpen }) => isOpen) === true;
  const [next = null] = hasOpen ? [asked] : await reviews.next(review, 1, skipped);
  const [queryId, documentId] = [query['query'], query['last']];
  const [status, trends] = await Promise.all([
    readJudgeStatus(context, pipeline, person),
    reads.measurements.trends({ pipeline, segment: ALL_SEGMENT, measures: judgeCharts }, from, now),
  ]);
  const plan = judgingPlans.find((one) => one.pipeline === pipeline);
  return {
    pipeline,
    isJudged,
    query: next,
    progress: status.people,
    status,
    trends,
    from,
    until: now,
    maxCostPerDay: plan === undefined || plan.judge === null ? null : plan.maxCostPerDay,
    skipped,
    last: queryId === undefined || documentId === undefined ? null : { queryId, documentId },
  };
}

/**
 * Stores or withdraws a grade.
 *
 * @returns the address to redirect to
 * @throws RecalldError body_unreadable for an invalid grade, judgment_unknown for a query that was not selected
 */
export async function storeGrade({ db, clock }: Context, pipeline: string, fields: Fields, grader: Grader) {
  const { query: queryId = '', document: documentId = '', typed = '', skip } = fields;
  const given = fields['grade'] ?? typed;
  const grade = given === 'none' ? null : Number(given);
  if (given === '' || (grade !== null && !(Number.isInteger(grade) && grade >= 0 && grade <= MAX_GRADE)))
    throw new RecalldError(
      'body_unreadable',
      `A grade must be a number from 0 to ${MAX_GRADE}. Go back and choose one.`,
    );
  const [isKnown] = await db.judging.judged.recordHumanJudgments(
    pipeline,
    [{ queryId, documentId, grade }],
    grader,
    clock.now(),
  );
  if (isKnown !== true)
    throw new RecalldError('judgment_unknown', 'This query was not selected for judging, or has been erased.');
  const last = grade === null ? null : documentId;
  return address(pipelinePath(pipeline, 'judge'), { query: queryId, last, skip: skippedOf(skip).join(' ') });
}
