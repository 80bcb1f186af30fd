import type { Judgment } from '../../../core/model.ts';
import { verdictWords } from '../../../incidents/explain/answers.ts';
import { runPath } from '../../../report/console/links.ts';
import type { Content, PageContent, Section, Table } from '../../../report/model/content.ts';
import {
  ask,
  badge,
  callout,
  code,
  empty,
  fact,
  facts,
  group,
  lead,
  link,
  missing,
  quiet,
  section,
  styled,
  styledParagraph,
  table,
  time,
  value,
  verbatim,
} from '../../../report/model/show.ts';
import type { DocumentFate } from '../../rules/labels.ts';
import { rankingsOf } from '../../rules/steps.ts';
import { describeDeletedAnswers } from '../../runs/stored-runs.ts';
import { partsOfPipelineName } from '../../watched-pipeline.ts';
import type { QueryPageData, QuerySide } from './golden-reads.ts';
import { named, type RankedDocument, rankedTable, sideBySide } from './query-sides.ts';
import { difference } from './query-table.ts';
import { queryVerdict } from './query-verdict.ts';

/** Longer texts are truncated in the title and shown in full below it. */
const MAX_TITLE = 140;

export function queryPage(data: QueryPageData): PageContent {
  const { query, showsText, after, before, incident } = data;
  const isCut = query.text.length > MAX_TITLE;
  const { run, answer } = after;
  const { pipeline, shadow } = partsOfPipelineName(run.pipeline);
  const sides = sideBySide(before?.answer?.documents ?? [], answer?.documents ?? [], query.judgments);
  const failure = showsText && answer?.errorMessage != null ? `: ${answer.errorMessage}` : '.';
  return {
    title: !showsText ? `Query ${query.id}` : isCut ? `${query.text.slice(0, MAX_TITLE)}\u2026` : query.text,
    pipeline,
    section: shadow === null ? 'golden' : 'experiments',
    hasRange: false,
    aside: link(`Run ${run.id}`, runPath(run.id)),
    content: [
      !showsText
        ? lead('The text is not shown, because this pipeline has privacy.text: hash.')
        : isCut && styledParagraph('asked', verbatim(query.text)),
      section(
        'verdict',
        'What happened',
        { aside: showsText && quiet('query ', code(query.id)) },
        group('stack', queryVerdict(data, sides, incident)),
        scoresTable(data),
        facts(
          query.noAnswer === true
            ? fact('Answer', 'none', 'an empty result is correct')
            : fact('Judged documents', query.judgments.length),
          ...Object.entries(query.tags).map(([name, tag]) => fact(name, verbatim(tag))),
        ),
      ),
      query.steps !== undefined && stepsSection(query.steps, data),
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
      section('missed', 'Relevant but not returned', {}, missed(sides.missed, data)),
    ],
  };
}

function stepsSection(steps: readonly string[], data: QueryPageData): Section {
  const { after, query, showsText } = data;
  const grades = new Map(query.judgments.map(({ documentId, grade }) => [documentId, grade]));
  const k = Math.max(...after.run.settings.cutoffs);
  const rankings = rankingsOf(after.answer?.documents ?? []);
  const firstStep = new Map<string, number>();
  const columns = steps.map((text, index) => {
    const documents = (rankings[index] ?? []).slice(0, k).map(({ id, score }, place) => {
      const first = firstStep.get(id) ?? index + 1;
      firstStep.set(id, first);
      return { id, rank: place + 1, score, grade: grades.get(id) ?? null, first };
    });
    return section(
      `step-${index + 1}`,
      `Step ${index + 1}`,
      { lead: showsText && verbatim(text) },
      documents.length === 0
        ? empty('This step returned no documents.')
        : rankedTable(`Documents of step ${index + 1}`, documents, data, [
            'New',
            ({ first }) => (first === index + 1 ? styled('rose', 'new') : `repeats step ${first}`),
          ]),
    );
  });
  return section(
    'steps',
    'Steps',
    {
      lead: `recalld sent the steps to the retriever in this order. all_found@${k} and union_recall@${k} score the union of the top ${k} documents of each step.`,
    },
    after.answer === null ? lead('This run has no results for the query.') : group('sides', ...columns),
  );
}

function inStore(fate: DocumentFate | undefined): Content {
  if (fate === undefined) return 'not reported as missing';
  switch (fate) {
    case 'superseded':
      return badge('superseded: its judgment is out of date', 'warning');
    case 'deleted':
      return badge('deleted in the manifest: its judgment is out of date', 'warning');
    case 'lost':
      return badge('lost: missing from the store', 'critical');
  }
}

function missed(documents: readonly Judgment[], { fates, explained, words }: QueryPageData): Content {
  if (documents.length === 0) return lead('Every relevant document was retrieved.');
  return [
    explained === null &&
      ask('missed', 'Explain now', 'Sends about five requests for this query to the retriever and the store.'),
    table('Relevant documents that were not retrieved', documents, [
      ['Document', ({ documentId: id }) => named(id, words)],
      ['Grade', ({ grade }) => grade, 'number'],
      ['In the store', ({ documentId: id }) => inStore(fates.get(id))],
      explained === null
        ? null
        : [
            'Explanation',
            ({ documentId: id }) => {
              const found = explained.filter(({ document }) => document === id);
              if (found.length === 0) return missing('not explained');
              return found.map((one) => [
                one.question.step !== undefined && `Step ${one.question.step}: `,
                badge(verdictWords(one), one.verdict === 'returned' ? 'ok' : 'warning'),
                ` ${one.evidence.join(' ')} ${one.action} `,
              ]);
            },
          ],
    ]),
  ];
}

function scoresTable({ after, before }: QueryPageData): Table {
  const k = Math.max(...after.run.settings.cutoffs);
  const shown = ['all_found', 'union_recall', 'ndcg', 'hit_rate', 'mrr', 'recall', 'precision'];
  const keys = new Set(shown.map((measure) => `${measure}@${k}`));
  const rows = Object.entries(after.scores)
    .filter(([key]) => keys.has(key))
    .map(([key, now]) => ({ key, now, old: before?.scores[key] }));
  return table(
    'Scores of this query',
    rows,
    [
      ['Measure', ({ key }) => key],
      before === null
        ? null
        : ['Before', ({ old }) => (old === undefined ? missing('none') : value(old, 'score')), 'number'],
      ['Now', ({ now }) => value(now, 'score'), 'number'],
      before === null ? null : ['Difference', ({ old, now }) => old !== undefined && difference(now - old), 'number'],
    ],
    'compact',
  );
}

function documents(
  caption: string,
  { answer, run }: QuerySide,
  ranked: readonly RankedDocument[],
  data: QueryPageData,
  move: ((document: RankedDocument) => Content) | null,
): Content {
  if (answer === null)
    return empty(
      run.answersDeletedAt === null ? 'This run has no results for the query yet.' : describeDeletedAnswers(run),
    );
  if (ranked.length === 0)
    return empty(
      answer.outcome === 'empty'
        ? 'The retriever returned no documents.'
        : `The retriever failed with ${answer.errorCode ?? answer.outcome}, so there are no documents.`,
    );
  return [
    rankedTable(caption, ranked, data, move && ['Move', move]),
    lead(
      answer.latencyMs !== null && ['Answered in ', value(answer.latencyMs, 'ms')],
      answer.attempts > 1 && `, on attempt ${answer.attempts}`,
    ),
  ];
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
