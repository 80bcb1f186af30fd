/** One golden query: what was retrieved before and is now, side by side, with grades and moves. */

import { compact, score } from '../../../core/format.ts';
import type { GoldenQuery, Judgment, RetrievedDocument } from '../../../core/model.ts';
import { type Explained, verdictWords } from '../../../incidents/explain/answers.ts';
import {
  AskForm,
  Badge,
  Empty,
  type Fact,
  Facts,
  Instant,
  Missing,
  Section,
  Table,
} from '../../../report/console/components.tsx';
import { runPath, within } from '../../../report/console/links.ts';
import { type Frame, Page } from '../../../report/console/page.tsx';
import type { GoldenRun, QueryAnswer } from '../../rules/run.ts';
import { answersGone } from '../../runs/stored-runs.ts';
import { partsOfPipelineName } from '../../watched-pipeline.ts';
import { Difference } from './tables.tsx';

export interface QuerySide {
  readonly run: GoldenRun;
  /** Null: that run has no answer to it. */
  readonly answer: QueryAnswer | null;
  /** By metric key. */
  readonly scores: Readonly<Record<string, number>>;
}

export interface QueryPageData {
  readonly query: GoldenQuery;
  /** False where the config has no text of this pipeline shown. */
  readonly showsText: boolean;
  /** First words of documents, by id. */
  readonly words: ReadonlyMap<string, string>;
  readonly after: QuerySide;
  /** Null: there is no run to compare with. */
  readonly before: QuerySide | null;
  /** Judged documents that left the store. */
  readonly stale: ReadonlySet<string>;
  /** Why its misses did not come back, asked just now; null: nobody asked for it. */
  readonly explained: readonly Explained[] | null;
}

export function QueryPage({ frame, data }: { readonly frame: Frame; readonly data: QueryPageData }) {
  const { query, showsText, words, after, before, stale, explained } = data;
  const { run } = after;
  const { pipeline, shadow } = partsOfPipelineName(run.pipeline);
  const sides = sideBySide(before?.answer?.documents ?? [], after.answer?.documents ?? [], query.judgments);
  return (
    <Page
      frame={frame}
      title={`Query ${query.id}`}
      pipeline={pipeline}
      section={shadow === null ? 'golden' : 'experiments'}
      hasRange={false}
      aside={<a href={within(frame.range, runPath(run.id))}>Run {run.id}</a>}
    >
      {showsText ? (
        <p class="asked">{query.text}</p>
      ) : (
        <p class="lead">No text is shown: this pipeline has privacy.text: hash.</p>
      )}
      {after.answer === null || after.answer.errorCode === null ? null : (
        <p class="alarm" role="note">
          The retriever failed ({after.answer.errorCode})
          {showsText && after.answer.errorMessage !== null ? `: ${after.answer.errorMessage}` : '.'}
        </p>
      )}
      <div class="sides">
        <Section
          id="before"
          title="Before"
          lead={
            before === null ? undefined : (
              <>
                <a href={within(frame.range, runPath(before.run.id))}>{before.run.id}</a>,{' '}
                <Instant at={before.run.startedAt} />
              </>
            )
          }
        >
          {before === null ? (
            <Empty
              why="There is no earlier run to compare with."
              todo="Pin a baseline, or wait for the next run of this set."
            />
          ) : (
            <Documents
              caption="Documents before"
              side={before}
              documents={sides.before}
              stale={stale}
              words={words}
              move={leaves}
            />
          )}
        </Section>
        <Section
          id="after"
          title="Now"
          lead={
            <>
              {run.id}, <Instant at={run.startedAt} />
            </>
          }
        >
          <Documents
            caption="Documents now"
            side={after}
            documents={sides.after}
            stale={stale}
            words={words}
            move={before === null ? null : comes}
          />
        </Section>
      </div>
      <Section id="missed" title="Relevant, and not retrieved">
        {explained === null && sides.missed.length > 0 ? (
          <AskForm frame={frame} section="missed" label="Ask why now">
            The retriever and the store are asked this question again, about five times.
          </AskForm>
        ) : null}
        {sides.missed.length === 0 ? (
          <p class="lead">Every relevant document was retrieved.</p>
        ) : (
          <Table
            caption="Relevant documents that were not retrieved"
            isCompact
            columns={[
              { title: 'Document' },
              { title: 'Grade', isNumber: true },
              { title: 'In the store' },
              ...(explained === null ? [] : [{ title: 'Asked now' }]),
            ]}
            rows={sides.missed.map(({ documentId, grade }) => ({
              key: documentId,
              cells: [
                <Named id={documentId} words={words} />,
                grade,
                stale.has(documentId) ? <Badge tone="warning">gone: the label is stale</Badge> : 'yes, as far as known',
                ...(explained === null
                  ? []
                  : [<Why explained={explained.find((one) => one.document === documentId)} />]),
              ],
            }))}
          />
        )}
      </Section>
      <Section id="scores" title="Scores">
        <Facts facts={tagFacts(query)} />
        <ScoresTable after={after} before={before} />
      </Section>
    </Page>
  );
}

function Why({ explained }: { readonly explained: Explained | undefined }) {
  if (explained === undefined) return <Missing>not asked</Missing>;
  const { verdict, evidence, action } = explained;
  return (
    <>
      <Badge tone={verdict === 'returned' ? 'ok' : 'warning'}>{verdictWords(explained)}</Badge> {evidence.join(' ')}{' '}
      {action}
    </>
  );
}

function tagFacts({ tags, judgments, noAnswer }: GoldenQuery): Fact[] {
  return [
    noAnswer === true
      ? { name: 'Answer', value: 'none', detail: 'an empty answer is right' }
      : { name: 'Judged documents', value: judgments.length },
    ...Object.entries(tags).map(([name, value]) => ({ name, value })),
  ];
}

function ScoresTable({ after, before }: { readonly after: QuerySide; readonly before: QuerySide | null }) {
  const k = Math.max(...after.run.settings.cutoffs);
  const shown = new Set(['ndcg', 'hit_rate', 'mrr', 'recall', 'precision'].map((measure) => `${measure}@${k}`));
  return (
    <Table
      caption="Scores of this query"
      isCompact
      columns={[
        { title: 'Measure' },
        ...(before === null
          ? []
          : [
              { title: 'Before', isNumber: true },
              { title: 'Difference', isNumber: true },
            ]),
        { title: 'Now', isNumber: true },
      ]}
      rows={Object.entries(after.scores)
        .filter(([key]) => shown.has(key))
        .map(([key, value]) => {
          const old = before?.scores[key];
          return {
            key,
            cells: [
              key,
              ...(before === null
                ? []
                : old === undefined
                  ? [<Missing>none</Missing>, '']
                  : [score(old), <Difference value={value - old} />]),
              score(value),
            ],
          };
        })}
    />
  );
}

interface DocumentsProps {
  readonly caption: string;
  readonly side: QuerySide;
  readonly documents: readonly RankedDocument[];
  readonly stale: ReadonlySet<string>;
  readonly words: ReadonlyMap<string, string>;
  /** How a document moved; null where there is nothing to move from. */
  readonly move: ((document: RankedDocument) => Move) | null;
}

function Documents({ caption, side, documents, stale, words, move }: DocumentsProps) {
  const { answer } = side;
  if (answer === null) {
    const why =
      side.run.answersGoneAt === null
        ? 'This run has no answer to the query: it was not asked, or not yet.'
        : answersGone(side.run);
    return <Empty why={why} />;
  }
  if (documents.length === 0) {
    const why =
      answer.outcome === 'empty'
        ? 'The retriever answered without any document.'
        : `The retriever failed with ${answer.errorCode ?? answer.outcome}, so there is no document.`;
    return <Empty why={why} />;
  }
  return (
    <>
      <Table
        caption={caption}
        isCompact
        columns={[
          { title: 'Rank', isNumber: true },
          { title: 'Document' },
          { title: 'Grade' },
          ...(move === null ? [] : [{ title: 'Move' }]),
          { title: 'Score', isNumber: true, isMinor: true },
        ]}
        rows={documents.map((document) => ({
          key: document.id,
          cells: [
            document.rank,
            <Named id={document.id} words={words} />,
            <Grade grade={document.grade} isStale={stale.has(document.id)} />,
            ...(move === null ? [] : [<MoveMark move={move(document)} />]),
            document.score === null ? '' : compact(document.score),
          ],
        }))}
      />
      <p class="lead">
        {answer.latencyMs === null ? '' : `Answered in ${compact(Math.round(answer.latencyMs))} ms`}
        {answer.attempts > 1 ? `, at attempt ${answer.attempts}` : ''}
      </p>
    </>
  );
}

function Named({ id, words }: { readonly id: string; readonly words: ReadonlyMap<string, string> }) {
  const known = words.get(id);
  return (
    <>
      <code class="document">{id}</code>
      {known === undefined ? null : <span class="why">{known}</span>}
    </>
  );
}

function Grade({ grade, isStale }: { readonly grade: number | null; readonly isStale: boolean }) {
  if (grade === null) return <span class="grade unjudged">not judged</span>;
  return (
    <span class={grade > 0 ? 'grade relevant' : 'grade irrelevant'}>
      {grade > 0 ? `relevant, ${grade}` : 'not relevant'}
      {isStale ? ', stale' : ''}
    </span>
  );
}

interface Move {
  readonly kind: 'up' | 'down' | 'same' | 'new' | 'gone';
  readonly text: string;
}

function MoveMark({ move: { kind, text } }: { readonly move: Move }) {
  return <span class={`move ${kind}`}>{text}</span>;
}

function comes({ rank, otherRank }: RankedDocument): Move {
  if (otherRank === null) return { kind: 'new', text: 'new' };
  if (otherRank === rank) return { kind: 'same', text: 'same' };
  return otherRank > rank
    ? { kind: 'up', text: `\u25b2 from ${otherRank}` }
    : { kind: 'down', text: `\u25bc from ${otherRank}` };
}

function leaves({ rank, otherRank }: RankedDocument): Move {
  if (otherRank === null) return { kind: 'gone', text: 'gone' };
  if (otherRank === rank) return { kind: 'same', text: 'same' };
  return otherRank < rank
    ? { kind: 'up', text: `\u25b2 to ${otherRank}` }
    : { kind: 'down', text: `\u25bc to ${otherRank}` };
}

/** One query's ranking before and after, side by side. */
interface RankedDocument {
  readonly id: string;
  /** From 1. */
  readonly rank: number;
  readonly score: number | null;
  /** Null: nobody judged it for this query. */
  readonly grade: number | null;
  /** Its rank on the other side; null: it is not there. */
  readonly otherRank: number | null;
}

interface SideBySide {
  readonly before: readonly RankedDocument[];
  readonly after: readonly RankedDocument[];
  /** Judged with a grade above 0 and not there now, the highest grade first. */
  readonly missed: readonly Judgment[];
}

/** A document that was returned twice counts at its first rank. */
export function sideBySide(
  before: readonly RetrievedDocument[],
  after: readonly RetrievedDocument[],
  judgments: readonly Judgment[],
): SideBySide {
  const grades = new Map(judgments.map(({ documentId, grade }) => [documentId, grade]));
  const [old, now] = [ranksOf(before), ranksOf(after)];
  const ranked = (
    documents: readonly RetrievedDocument[],
    own: ReadonlyMap<string, number>,
    other: ReadonlyMap<string, number>,
  ): RankedDocument[] =>
    documents.flatMap(({ id, score }, index) =>
      own.get(id) === index + 1
        ? [{ id, rank: index + 1, score, grade: grades.get(id) ?? null, otherRank: other.get(id) ?? null }]
        : [],
    );
  return {
    before: ranked(before, old, now),
    after: ranked(after, now, old),
    missed: judgments
      .filter(({ documentId, grade }) => grade > 0 && !now.has(documentId))
      .toSorted((a, b) => b.grade - a.grade),
  };
}

function ranksOf(documents: readonly RetrievedDocument[]): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const [index, { id }] of documents.entries()) if (!ranks.has(id)) ranks.set(id, index + 1);
  return ranks;
}
