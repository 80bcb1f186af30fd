/** The page *Judge*: what it shows, how it is made, and what its forms do. */

import { RecalldError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Measurements } from '../../measures/measurements.ts';
import { Badge, Empty, Section } from '../../report/console/components.tsx';
import { address, pipelinePath } from '../../report/console/links.ts';
import { type Frame, Page } from '../../report/console/page.tsx';
import type { JudgeSpending } from '../judge-spending.ts';
import type { JudgedTable } from '../judged-table.ts';
import { PEOPLE_AGREEMENT, recordedAgreement } from '../measure-judged.ts';
import type { Grader } from '../people-grades.ts';
import type { ReviewedDocument, ReviewedQuery, ReviewProgress, ReviewQueue } from '../review-queue.ts';
import { type Agreement, agreementWords } from '../rules/agreement.ts';
import { FLAGGED_MS, type FlaggedGrades, flaggedSentence } from '../rules/flagged-grades.ts';
import { gradeMeanings } from '../rules/judge-prompt.ts';
import { MAX_GRADE } from '../rules/judged-scores.ts';

export interface JudgePageData {
  readonly pipeline: string;
  /** Whether the config has `judged` for it. */
  readonly isJudged: boolean;
  /** Null: there is nothing to grade. */
  readonly query: ReviewedQuery | null;
  readonly progress: ReviewProgress;
  /** Of the last seven days. */
  readonly flagged: FlaggedGrades;
  /** Of two people in the trailing window; null where too little is known. */
  readonly peopleAgreement: Agreement | null;
  /** US dollars that the judge has cost today (UTC). */
  readonly costToday: number;
  /** Queries that were left for later, by id. */
  readonly skipped: readonly string[];
  /** What was graded last, to be taken back. */
  readonly last: { readonly queryId: string; readonly documentId: string } | null;
}

export function JudgePage({ frame, data }: { readonly frame: Frame; readonly data: JudgePageData }) {
  const { pipeline, progress, query, last, skipped, costToday, peopleAgreement, flagged } = data;
  const formToken = frame.visitor?.canAct === true ? frame.visitor.formToken : null;
  return (
    <Page frame={frame} title="Judge" pipeline={pipeline} section="judge" hasRange={false}>
      <Section
        id="judge"
        title="How well do these documents answer?"
        lead="Live queries that were drawn at random. The order of the documents says nothing of their rank."
      >
        {progress.drawn === 0 ? null : (
          <p>
            <progress value={progress.graded} max={progress.drawn} aria-label="Queries graded" />{' '}
            {`${progress.graded} of ${progress.drawn} queries graded; ${progress.lately} were graded in the last 24 hours`}
          </p>
        )}
        {query === null ? <Nothing data={data} /> : <Query data={data} query={query} formToken={formToken} />}
        {last === null || formToken === null ? null : (
          <form method="post" action={`${pipelinePath(pipeline, 'judge')}/grade`}>
            <Hidden data={data} formToken={formToken} query={last.queryId} document={last.documentId} />
            <button type="submit" class="quiet" name="grade" value="none" accessKey="u">
              Undo the last grade
            </button>
          </form>
        )}
        {skipped.length === 0 ? null : (
          <p>
            <a href={pipelinePath(pipeline, 'judge')}>Back to what was left for later</a>
          </p>
        )}
      </Section>
      <Section id="grades" title="Grades" lead="A model that grades goes by the same words.">
        <dl class="rubric">
          {gradeMeanings.map((meaning, grade) => (
            <div key={meaning}>
              <dt>{grade}</dt>
              <dd>{`The document ${meaning}.`}</dd>
            </div>
          ))}
        </dl>
        {peopleAgreement === null ? null : (
          <p>
            {`Some queries are graded by a second person, who does not see the grades of the first. Their agreement (weighted kappa) is ${agreementWords(peopleAgreement)}.`}
          </p>
        )}
        {flagged.graded === 0 ? null : <p>{flaggedSentence(pipeline, flagged)}</p>}
        {costToday === 0 ? null : <p>{`The grades of the model cost $${costToday.toFixed(4)} today (UTC).`}</p>}
      </Section>
    </Page>
  );
}

function Nothing({ data: { isJudged, progress, skipped } }: { readonly data: JudgePageData }) {
  if (!isJudged)
    return (
      <Empty
        why="This pipeline is not judged."
        todo={
          <>
            Add <code>judged</code> to it in the config.
          </>
        }
      />
    );
  return (
    <Empty
      why={
        progress.drawn === 0
          ? 'No live query has been drawn for people yet.'
          : skipped.length > 0
            ? 'The rest was left for later.'
            : 'All that was drawn for people is graded.'
      }
      todo="A few are drawn every hour."
    />
  );
}

interface QueryProps {
  readonly data: JudgePageData;
  readonly query: ReviewedQuery;
  /** Null for who may not act. */
  readonly formToken: string | null;
}

function Query({ data, query, formToken }: QueryProps) {
  const { pipeline, skipped } = data;
  const open = query.documents.find(({ isOpen }) => isOpen);
  return (
    <>
      <h3 class="judged-query">{query.text}</h3>
      <ol class="judged">
        {query.documents.map((document) => (
          <li key={document.id}>
            <Document data={data} query={query} document={document} formToken={formToken} isNext={document === open} />
          </li>
        ))}
      </ol>
      <p>
        <a href={address(pipelinePath(pipeline, 'judge'), { skip: [...skipped, query.id].join(' ') })} accessKey="s">
          Leave it for later
        </a>
      </p>
    </>
  );
}

interface DocumentProps extends QueryProps {
  readonly document: ReviewedDocument;
  /** Whether it is the first without a grade, which keys go to. */
  readonly isNext: boolean;
}

function Document({ data, query, document, formToken, isNext }: DocumentProps) {
  const { id, text, grade, isFlagged } = document;
  if (text === null) return <p>This document has gone.</p>;
  return (
    <>
      {isFlagged ? (
        <p>
          <Badge tone="warning">flagged</Badge> The query or this document speaks to a model that grades. Grade what
          else it says.
        </p>
      ) : null}
      <p class="document-text">{text}</p>
      {formToken === null ? (
        <p>To grade it takes an API key with the scope admin.</p>
      ) : (
        <form method="post" action={`${pipelinePath(data.pipeline, 'judge')}/grade`}>
          <Hidden data={data} formToken={formToken} query={query.id} document={id} />
          {isNext ? (
            <label class="typed">
              Grade, then Enter{' '}
              <input
                type="text"
                name="typed"
                inputMode="numeric"
                pattern="[0-3]"
                maxLength={1}
                size={2}
                autocomplete="off"
                autoFocus
              />{' '}
              <button type="submit">Save</button>
            </label>
          ) : null}
          <span class="grades" role="group" aria-label="Grade">
            {gradeMeanings.map((meaning, value) => (
              <button
                key={meaning}
                type="submit"
                name="grade"
                value={String(value)}
                title={`${value}: ${meaning}`}
                aria-pressed={grade === value}
                {...(isNext ? { accessKey: String(value) } : {})}
              >
                {grade === value ? `✓ ${value}` : value}
              </button>
            ))}
          </span>
        </form>
      )}
    </>
  );
}

function Hidden(props: {
  readonly data: JudgePageData;
  readonly formToken: string;
  readonly query: string;
  readonly document: string;
}) {
  const { data, formToken, query, document } = props;
  return (
    <>
      <input type="hidden" name="form_token" value={formToken} />
      <input type="hidden" name="query" value={query} />
      <input type="hidden" name="document" value={document} />
      <input type="hidden" name="skip" value={data.skipped.join(' ')} />
    </>
  );
}

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
  const asked = query['query'] === undefined ? null : await reviews.find(pipeline, person, now, query['query']);
  const hasOpen = asked?.documents.some(({ isOpen }) => isOpen) === true;
  const [next = null] = hasOpen ? [asked] : await reviews.next(pipeline, person, now, 1, skipped);
  const [queryId, documentId] = [query['query'], query['last']];
  return {
    pipeline,
    isJudged,
    query: next,
    progress: await reviews.progress(pipeline, person, now),
    flagged: await reviews.flagged(pipeline, new Date(now.getTime() - FLAGGED_MS)),
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
