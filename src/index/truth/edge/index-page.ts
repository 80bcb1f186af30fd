/**
 * The *Index* page of the console: compares the store of a pipeline with the manifest, and lists the ids of the
 * findings.
 */
import { count, interval, percentage, plural } from '../../../core/format.ts';
import { deploymentMark, deploymentTable } from '../../../live/deployments/edge/deployments-page.ts';
import { isTooOld } from '../../../measures/measurements.ts';
import { measureRow } from '../../../measures/rules/measure-table.ts';
import { runPath, runQuery } from '../../../report/console/links.ts';
import type { TrendPoint } from '../../../report/model/charts.ts';
import type { Content, ContentNode, PageContent, Section } from '../../../report/model/content.ts';
import { latestAge, latestSize, latestValue, measureChart, segmentColumn } from '../../../report/model/measures.ts';
import {
  age,
  ask,
  documentId,
  empty,
  fact,
  facts,
  group,
  lead,
  link,
  more,
  section,
  table,
  time,
  value,
  verbatim,
} from '../../../report/model/show.ts';
import type { FoundOfKind, HubsReport, IndexPageData, IndexStatus } from '../index-reads.ts';
import type { NamedKind } from '../rules/findings.ts';
import type { Hub } from '../rules/hubs.ts';

const headings: Readonly<Record<NamedKind, { readonly title: string; readonly lead: string }>> = {
  missing: { title: 'Missing', lead: 'Documents that are in the manifest but not in the store.' },
  unretrievable: {
    title: 'Not retrieved',
    lead: 'Stored documents that are missing from the results of a search for the beginning of their own text.',
  },
  orphaned: {
    title: 'Orphaned',
    lead: 'Documents in the store that the manifest does not list, or lists as deleted.',
  },
  superseded: { title: 'Superseded', lead: 'Documents with chunks from several versions in the store.' },
  other_model: {
    title: 'Other model',
    lead: 'Chunks whose stored vectors differ from the vectors that the embedder returns for their texts.',
  },
  late: { title: 'Late', lead: 'Documents with a change that has not reached the store within late_after.' },
};

export const indexCharts = [
  'store_vectors',
  'ann_recall',
  'index_missing_ratio',
  'index_orphaned_ratio',
  'index_superseded_ratio',
  'index_lag_seconds',
] as const;

export function indexPage(data: IndexPageData, trends: ReadonlyMap<string, readonly TrendPoint[]>): PageContent {
  const { pipeline, found, leaks, deployments, returned, isDrawn } = data;
  const charted = indexCharts.filter((measure) => (trends.get(measure)?.length ?? 0) > 0);
  return {
    title: 'Index',
    pipeline,
    section: 'index',
    content: [
      section(
        'index',
        'Store and manifest',
        { lead: 'The vector store compared with the manifest of the documents that should be in it.' },
        status(data),
      ),
      leaks.length > 0 && leaked(leaks),
      charted.length > 0 &&
        section(
          'trends',
          'Over time',
          { lead: 'Numbered lines show deployments.' },
          group(
            'charts',
            charted.map((measure, index) =>
              measureChart(measure, trends.get(measure) ?? [], {
                marks: deployments.map(deploymentMark).toReversed(),
                hasMarkList: index === 0,
                limits: [0, ['share', 'score'].includes(measureRow(measure).scale) ? 1 : null],
                empty: '',
              }),
            ),
          ),
        ),
      foundSections(found),
      returned.hubs !== null &&
        hubsSection(
          { ...returned, hubs: returned.hubs },
          { k: 10, days: 7 },
          isDrawn
            ? deadChunks(returned)
            : ask('hubs', 'Find chunks that are never retrieved', 'Samples a thousand chunks from the store.'),
        ),
      deployments.length > 0 &&
        section(
          'changes',
          'Changes',
          { lead: 'The latest deployments of this pipeline.' },
          deploymentTable('Deployments', deployments, new Map(), null, false),
        ),
    ],
  };
}

type PageStatus = IndexStatus & { readonly isIndexed: boolean; readonly now: Date };

export function statusContent(of: PageStatus): Content {
  return [status(of), foundSections(of.found)];
}

function status({ isIndexed, checkedAt, documents, measures, now }: PageStatus): Content {
  if (!isIndexed)
    return empty('No manifest configured.', 'Add `index` with a `manifest` to the pipeline in the config.');
  if (checkedAt === null) return empty('No check has finished yet.');
  return [
    facts(
      fact('Documents in the manifest', documents ?? 'unknown'),
      fact('Last check', age(checkedAt), time(checkedAt)),
    ),
    table(
      'Measures of the index',
      measures.map((latest) => ({ latest, isTooOld: isTooOld(latest, now) })),
      [
        ['Measure', ({ latest }) => measureRow(latest.measure).title],
        segmentColumn,
        ['Value (95 % CI)', latestValue, 'number'],
        ['n', latestSize, 'number'],
        ['Measured', latestAge, 'number'],
      ],
      'compact',
    ),
  ];
}

const EXAMPLES = 3;

/** @param span `k`: number of top results considered per query; `days`: number of days of live queries */
export function hubsSection(
  { hubs: found, queries, documents }: HubsReport & { readonly hubs: readonly Hub[] },
  { k, days }: { readonly k: number; readonly days: number },
  dead: Content,
): Section {
  return section(
    'hubs',
    `Hub documents: ${count(found.length)}`,
    {
      lead: `Documents that appear in the top ${k} results of far more queries than other documents do. ${count(queries)} distinct queries, from the last ${days} days and the latest golden runs, retrieved ${plural(documents, 'document')}.`,
    },
    found.length === 0
      ? empty('No document is retrieved for far more queries than other documents.')
      : table('Hub documents', found, [
          ['Document', ({ id }) => documentId(id)],
          ['Share of queries (CI)', ({ share, low, high }) => value(share, 'share', low, high), 'number'],
          ['Examples', ({ examples }) => verbatim(examples.slice(0, EXAMPLES).join('; '))],
        ]),
    dead,
  );
}

const MAX_DEAD = 50;

export function deadChunks({ dead, why, queries }: HubsReport): Content {
  if (dead === null) return empty(why ?? 'No chunks were sampled.');
  const { share, low, high, sampled, ids: all } = dead;
  const summary = all.length > MAX_DEAD ? `The first ${MAX_DEAD} of ${count(all.length)}` : 'Ids';
  return [
    lead(
      `${percentage(share)} of ${count(sampled)} chunks sampled from the store were not retrieved for any of the ${count(queries)} queries (${interval(low, high, 'share')}).`,
    ),
    all.length > 0 && ids(all.slice(0, MAX_DEAD), summary),
  ];
}

function ids(documents: readonly string[], summary = 'Ids to copy'): ContentNode {
  return more(summary, { kind: 'lines', text: documents.join('\n') });
}

const MAX_LEAKS = 50;

function leaked(leaks: IndexPageData['leaks']): Section {
  const more =
    leaks.length > MAX_LEAKS ? ` The first ${MAX_LEAKS} are listed; the page of each run has the complete list.` : '';
  const shown = leaks.slice(0, MAX_LEAKS);
  return section(
    'leaked',
    `Leaked: ${count(leaks.length)}`,
    {
      lead: `Forbidden documents that the retriever returned in the latest golden or sentinel run, and returned again when recalld repeated the query.${more}`,
    },
    ids([...new Set(shown.map((leak) => leak.documentId))]),
    table('Leaked', shown, [
      ['Document', (leak) => documentId(leak.documentId)],
      ['Query', ({ runId, queryId }) => runQuery(runId, queryId)],
      ['Rank', ({ rank }) => rank, 'number'],
      ['Since (UTC)', ({ since }) => time(since)],
      ['Run', ({ runId, goldenSet }) => link(goldenSet, runPath(runId))],
    ]),
  );
}

function foundSections(found: readonly FoundOfKind[]): readonly Section[] {
  return found.filter(({ count: known }) => known > 0).map(foundSection);
}

function foundSection({ kind, count: known, documents }: FoundOfKind): Section {
  const { title, lead: what } = headings[kind];
  const more = known > documents.length ? ` The first ${count(documents.length)} are listed.` : '';
  return section(
    kind,
    `${title}: ${count(known)}`,
    { lead: `${what}${more}` },
    ids(documents.map(({ id }) => id)),
    table(
      title,
      documents,
      [
        ['Document', ({ id }) => documentId(id)],
        ['Segment', ({ segment }) => segment, 'minor'],
        ['Since (UTC)', ({ foundAt }) => time(foundAt)],
      ],
      'compact',
    ),
  );
}
