/** What the store of a pipeline holds against what it should hold, with the ids of what is wrong. */
import { count, percentage, plural } from '../../../core/format.ts';
import { deploymentTable } from '../../../live/deployments/edge/deployments-page.ts';
import { measureRow } from '../../../measures/rules/measure-table.ts';
import { runPath, runQuery } from '../../../report/console/links.ts';
import type { Content, ContentNode, PageContent, Section, Table } from '../../../report/model/content.ts';
import { latestAge, latestSize, latestValue, segmentColumn } from '../../../report/model/measures.ts';
import {
  age,
  ask,
  documentId,
  empty,
  fact,
  facts,
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
import { isTooOld } from '../measure-index.ts';
import type { NamedKind } from '../rules/findings.ts';
import type { Hub } from '../rules/hubs.ts';

const headings: Readonly<Record<NamedKind, { readonly title: string; readonly lead: string }>> = {
  missing: { title: 'Missing', lead: 'In the manifest, and not in the store.' },
  unretrievable: { title: 'Not retrieved', lead: 'In the store, and not found by the start of their own text.' },
  orphaned: { title: 'Orphaned', lead: 'In the store, and not in the manifest, or deleted there.' },
  superseded: { title: 'Superseded', lead: 'Chunks of more than one version are live.' },
  other_model: { title: 'Of another model', lead: 'The embedder makes other vectors of the stored texts.' },
  late: { title: 'Late', lead: 'Changes that are followed, and have waited for longer than late_after.' },
};

export function indexPage(data: IndexPageData): PageContent {
  const { pipeline, found, leaks, deployments, returned, isDrawn } = data;
  return {
    title: 'Index',
    pipeline,
    section: 'index',
    hasRange: false,
    content: [
      section(
        'index',
        'What the store holds, and should hold',
        { lead: 'The vector store against the manifest of the documents that it should hold.' },
        status(data),
      ),
      leaks.length > 0 && leaked(leaks),
      foundSections(found),
      returned.hubs !== null &&
        hubsSection(
          { ...returned, hubs: returned.hubs },
          { k: 10, days: 7 },
          isDrawn
            ? deadChunks(returned)
            : ask('hubs', 'Look for chunks that never come back', 'A thousand are drawn from the store.'),
        ),
      deployments.length > 0 &&
        section(
          'changes',
          'What changed',
          { lead: 'The latest deployments of this pipeline.' },
          deploymentTable('Deployments', deployments, new Map(), null, false),
        ),
    ],
  };
}

type PageStatus = IndexStatus & Pick<IndexPageData, 'isIndexed' | 'now'>;

/** By itself, as the last round found it. */
export function statusContent(of: PageStatus): Content {
  return [status(of), foundSections(of.found)];
}

function status({ isIndexed, checkedAt, documents, measures, now }: PageStatus): Content {
  if (!isIndexed)
    return empty(
      'Nobody says what the store of this pipeline should hold.',
      'Add `index` with a `manifest` to it in the config.',
    );
  if (checkedAt === null) return empty('No round has come to its end yet.');
  return [
    facts(
      fact('Documents in the manifest', documents ?? 'unknown'),
      fact('Last looked', age(checkedAt), time(checkedAt)),
    ),
    measuresTable(measures, now),
  ];
}

function measuresTable(measures: IndexStatus['measures'], now: Date): Table {
  const rows = measures.map((latest) => ({ latest, isTooOld: isTooOld(latest, now) }));
  return table(
    'Measures of the index',
    rows,
    [
      ['Measure', ({ latest }) => measureRow(latest.measure).title],
      segmentColumn,
      ['Value, 95 % bounds', latestValue, 'number'],
      ['n', latestSize, 'number'],
      ['Measured', latestAge, 'number'],
    ],
    'compact',
  );
}

const EXAMPLES = 3;

/** @param span places of an answer that count, and days of live queries */
export function hubsSection(
  { hubs: found, questions, documents }: HubsReport & { readonly hubs: readonly Hub[] },
  { k, days }: { readonly k: number; readonly days: number },
  dead: Content,
): Section {
  return section(
    'hubs',
    `Hubs: ${count(found.length)}`,
    {
      lead: `Documents among the first ${k} of far more questions than their share: of ${count(questions)} different questions of the last ${days} days and of the latest golden runs, which brought ${plural(documents, 'document')}.`,
    },
    found.length === 0
      ? empty('No document comes back for far more questions than its share.')
      : table('Hubs', found, [
          ['Document', ({ id }) => documentId(id)],
          ['Of the questions, bounds', ({ share, low, high }) => value(share, 'share', low, high), 'number'],
          ['Such as', ({ examples }) => verbatim(examples.slice(0, EXAMPLES).join('; '))],
        ]),
    dead,
  );
}

const MAX_DEAD = 50;

export function deadChunks({ dead, why, questions }: HubsReport): Content {
  if (dead === null) return empty(why ?? 'Nothing was drawn.');
  const { share, low, high, sampled, ids: all } = dead;
  const summary = all.length > MAX_DEAD ? `The first ${MAX_DEAD} of ${count(all.length)}` : 'Which they are';
  return [
    lead(
      `${percentage(share)} of ${count(sampled)} chunks drawn from the store came back for none of the ${count(questions)} questions, 95 % ${percentage(low)} to ${percentage(high)}.`,
    ),
    all.length > 0 && ids(all.slice(0, MAX_DEAD), summary),
  ];
}

function ids(documents: readonly string[], summary = 'Ids to copy'): ContentNode {
  return more(summary, { kind: 'lines', text: documents.join('\n') });
}

/** More would bury what changed. */
const MAX_LEAKS = 50;

function leaked(leaks: IndexPageData['leaks']): Section {
  const more = leaks.length > MAX_LEAKS ? ` The first ${MAX_LEAKS} are listed; the pages of the runs have more.` : '';
  const shown = leaks.slice(0, MAX_LEAKS);
  return section(
    'leaked',
    `Leaked: ${count(leaks.length)}`,
    { lead: `Forbidden documents that the latest golden run or sentinel brought, asked twice.${more}` },
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
