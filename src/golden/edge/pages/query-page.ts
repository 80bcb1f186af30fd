/** Page of one golden query: its results before and now, with grades and changes of rank. */
import type { GoldenQuery, Judgment, RetrievedDocument } from '../../../core/model.ts';
import { type Explained, verdictWords } from '../../../incidents/explain/answers.ts';
import { runPath } from '../../../report/console/links.ts';
import type { Column, Content, ContentNode, PageContent, Table } from '../../../report/model/content.ts';
import {
  ask,
  badge,
  callout,
  documentId,
  empty,
  fact,
  facts,
  group,
  lead,
  link,
  missing,
  section,
  styled,
  styledParagraph,
  table,
  time,
  value,
  verbatim,
  why,
} from '../../../report/model/show.ts';
import type { GoldenRun, QueryAnswer } from '../../rules/run.ts';
import { describeDeletedAnswers } from '../../runs/stored-runs.ts';
import { partsOfPipelineName } from '../../watched-pipeline.ts';
import { difference } from './query-table.ts';

export interface QuerySide {
  readonly run: GoldenRun;
  /** Null when the run has no answer. */
  readonly answer: QueryAnswer | null;
  /** By metric key. */
  readonly scores: Readonly<Record<string, number>>;
}

export interface QueryPageData {
  readonly query: GoldenQuery;
  /** False when the config forbids showing texts of this pipeline. */
  readonly showsText: boolean;
  /** First words of documents, by id. */
  readonly words: ReadonlyMap<string, string>;
  readonly after: QuerySide;
  /** Null without a run to compare with. */
  readonly before: QuerySide | null;
  /** Judged documents that left the store. */
  readonly stale: ReadonlySet<string>;
  /** Why relevant documents are missed, determined on this request; null unless requested. */
  readonly explained: readonly Explained[] | null;
}

export function queryPage(data: QueryPageData): PageContent {
  const { query, showsText, after, before } = data;
  const { run, answer } = after;
  const { pipeline, shadow } = partsOfPipelineName(run.pipeline);
  const sides = sideBySide(before?.answer?.documents ?? [], answer?.documents ?? [], query.judgments);
  const failure = showsText && answer?.errorMessage != null ? `: ${answer.errorMessage}` : '.';
  return {
    title: `Query ${query.id}`,
    pipeline,
    section: shadow === null ? 'golden' : 'experiments',
    hasRange: false,
    aside: link(`Run ${run.id}`, runPath(run.id)),
    content: [
      showsText
        ? styledParagraph('asked', verbatim(query.text))
        : lead('No text is shown: this pipeline has privacy.text: hash.'),
      answer?.errorCode != null && callout(`The retriever failed (${answer.errorCode})`, verbatim(failure)),
      group(
        'sides',
        section(
          'before',
          'Before',
          {
            lead: before !== null && [link(before.run.id, runPath(before.run.id)), ', ', time(before.run.startedAt)],
          },
          before === null
            ? empty('No earlier run to compare with.', 'Pin a baseline, or wait for the next run of this set.')
            : documents('Documents before', before, sides.before, data, leaves),
        ),
        section(
          'after',
          'Now',
          { lead: [run.id, ', ', time(run.startedAt)] },
          documents('Documents now', after, sides.after, data, before === null ? null : comes),
        ),
      ),
      section('missed', 'Relevant but not retrieved', {}, missed(sides.missed, data)),
      section(
        'scores',
        'Scores',
        {},
        facts(
          query.noAnswer === true
            ? fact('Answer', 'none', 'an empty answer is right')
            : fact('Judged documents', query.judgments.length),
          ...Object.entries(query.tags).map(([name, tag]) => fact(name, verbatim(tag))),
        ),
        scoresTable(data),
      ),
    ],
  };
}

function missed(documents: readonly Judgment[], { stale, explained, words }: QueryPageData): Content {
  if (documents.length === 0) return lead('Every relevant document was retrieved.');
  return [
    explained === null &&
      ask('missed', 'Explain now', 'Sends about five requests for this query to the retriever and the store.'),
    table(
      'Relevant documents that were not retrieved',
      documents,
      [
        ['Document', ({ documentId: id }) => named(id, words)],
        ['Grade', ({ grade }) => grade, 'number'],
        [
          'In the store',
          ({ documentId: id }) =>
            stale.has(id) ? badge('missing: the label is stale', 'warning') : 'yes, as far as known',
        ],
        explained === null
          ? null
          : [
              'Explanation',
              ({ documentId: id }) => {
                const found = explained.find(({ document }) => document === id);
                if (found === undefined) return missing('not explained');
                const { verdict, evidence, action } = found;
                return [
                  badge(verdictWords(found), verdict === 'returned' ? 'ok' : 'warning'),
                  ` ${evidence.join(' ')} ${action}`,
                ];
              },
            ],
      ],
      'compact',
    ),
  ];
}

function scoresTable({ after, before }: QueryPageData): Table {
  const k = Math.max(...after.run.settings.cutoffs);
  const keys = new Set(['ndcg', 'hit_rate', 'mrr', 'recall', 'precision'].map((measure) => `${measure}@${k}`));
  const rows = Object.entries(after.scores).filter(([key]) => keys.has(key));
  const columns: readonly Column<(typeof rows)[number]>[] = [
    [
      'Before',
      ([key]) => {
        const old = before?.scores[key];
        return old === undefined ? missing('none') : value(old, 'score');
      },
      'number',
    ],
    [
      'Difference',
      ([key, now]) => {
        const old = before?.scores[key];
        return old !== undefined && difference(now - old);
      },
      'number',
    ],
  ];
  return table(
    'Scores of this query',
    rows,
    [
      ['Measure', ([key]) => key],
      ...(before === null ? [] : columns),
      ['Now', ([, now]) => value(now, 'score'), 'number'],
    ],
    'compact',
  );
}

/** @param move describes how a document moved; null without an earlier run */
function documents(
  caption: string,
  { answer, run }: QuerySide,
  ranked: readonly RankedDocument[],
  { stale, words }: QueryPageData,
  move: ((document: RankedDocument) => Content) | null,
): Content {
  if (answer === null)
    return empty(
      run.answersDeletedAt === null ? 'This run has no answer to the query (yet).' : describeDeletedAnswers(run),
    );
  if (ranked.length === 0)
    return empty(
      answer.outcome === 'empty'
        ? 'The retriever returned no documents.'
        : `The retriever failed with ${answer.errorCode ?? answer.outcome}, so there are no documents.`,
    );
  return [
    table(
      caption,
      ranked,
      [
        ['Rank', ({ rank }) => rank, 'number'],
        ['Document', ({ id }) => named(id, words)],
        ['Grade', ({ id, grade }) => gradeOf(grade, stale.has(id))],
        move === null ? null : ['Move', move],
        ['Score', ({ score }) => score !== null && value(score, 'other'), 'minor number'],
      ],
      'compact',
    ),
    lead(
      answer.latencyMs !== null && ['Answered in ', value(answer.latencyMs, 'ms')],
      answer.attempts > 1 && `, at attempt ${answer.attempts}`,
    ),
  ];
}

function named(id: string, words: QueryPageData['words']): Content {
  const known = words.get(id);
  return [documentId(id), known !== undefined && why(verbatim(known))];
}

function gradeOf(grade: number | null, isStale: boolean): ContentNode {
  if (grade === null) return styled('unjudged', 'unjudged');
  return styled(
    grade > 0 ? 'relevant' : 'unjudged',
    grade > 0 ? `relevant, ${grade}` : 'not relevant',
    isStale && ', stale',
  );
}

function comes({ rank, otherRank }: RankedDocument): Content {
  if (otherRank === null) return styled('rose', 'new');
  if (otherRank === rank) return 'same';
  return otherRank > rank ? styled('rose', `\u25b2 from ${otherRank}`) : styled('fell', `\u25bc from ${otherRank}`);
}

function leaves({ rank, otherRank }: RankedDocument): Content {
  if (otherRank === null) return styled('fell', 'dropped');
  if (otherRank === rank) return 'same';
  return otherRank < rank ? styled('rose', `\u25b2 to ${otherRank}`) : styled('fell', `\u25bc to ${otherRank}`);
}

interface RankedDocument {
  readonly id: string;
  /** From 1. */
  readonly rank: number;
  readonly score: number | null;
  /** Null when it is unjudged for this query. */
  readonly grade: number | null;
  /** Its rank on the other side; null when it is absent there. */
  readonly otherRank: number | null;
}

/**
 * A repeated document counts at its first rank.
 *
 * @returns in `missed`, documents with a grade above 0 that are not returned now, the highest grade first
 */
export function sideBySide(
  before: readonly RetrievedDocument[],
  after: readonly RetrievedDocument[],
  judgments: readonly Judgment[],
) {
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
