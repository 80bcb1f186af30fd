/** Status of a pipeline's index, hub documents and dead chunks, for commands and pages. */
import type pg from 'pg';
import type { VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { DAY_MS } from '../../core/time.ts';
import type { ForbiddenResult } from '../../golden/rules/forbidden-results.ts';
import type { GoldenRun } from '../../golden/rules/run.ts';
import type { GoldenRuns } from '../../golden/sql/golden-runs.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { indexMeasureNames } from './measure-index.ts';
import type { NamedDocument } from './rounds-table.ts';
import { findingKinds, type NamedKind } from './rules/findings.ts';
import { deadChunks, findHubs, type ReturnedDocuments } from './rules/hubs.ts';

export type HubsReport = Awaited<ReturnType<typeof readHubs>>;

const OTHER_IDS =
  'None of the chunks sampled from the store was ever retrieved. The ids that the retriever returns probably differ from those in the store.';

/**
 * @param chunks number of chunks to sample; 0 for none
 * @throws RecalldError store_unreachable
 */
export async function readHubs(
  returned: ReturnedReads,
  store: VectorStore | null,
  { chunks, ...window }: ReturnedWindow & { readonly chunks: number },
  signal: AbortSignal,
) {
  const drawn = await drawIds(store, chunks, signal);
  const { retrieved, ...found } = await returned.documents(window, drawn.ids);
  const hubs = findHubs(found);
  const dead = drawn.why === null && hubs !== null ? deadChunks(drawn.ids, retrieved) : null;
  const why = drawn.why ?? (dead === null ? OTHER_IDS : null);
  return {
    queries: found.queries,
    documents: found.documents,
    /** Hub documents; null if too few queries returned documents. */
    hubs,
    /** Chunks that are never retrieved; null if unknown, in which case `why` states the reason. */
    dead,
    why,
  };
}

async function drawIds(
  store: VectorStore | null,
  n: number,
  signal: AbortSignal,
): Promise<{ readonly ids: readonly string[]; readonly why: string | null }> {
  if (n === 0) return { ids: [], why: 'No chunks were sampled.' };
  if (store === null) return { ids: [], why: 'No vector_store is configured, so no chunks can be sampled.' };
  const sample = await store.sample({ n, seed: 1, withContent: false }, signal);
  if (sample.kind === 'unsupported') return { ids: [], why: sample.reason };
  if (sample.kind === 'failed') throw new RecalldError('store_unreachable', sample.message);
  const { ids } = sample.value;
  return { ids, why: ids.length === 0 ? 'The store is empty.' : null };
}

export interface ReturnedWindow {
  readonly pipeline: string;
  readonly since: Date;
  /** Number of top results considered per query. */
  readonly k: number;
  /** Maximum number of live queries; if there are more, only the newest are used. */
  readonly limit: number;
}

/** Number of most often retrieved documents to read. All other documents are retrieved too rarely to be hubs. */
const MAX_DOCUMENTS = 200;
const EXAMPLES = 3;

export type ReturnedReads = ReturnType<typeof createReturnedReads>;

export function createReturnedReads(pool: pg.Pool) {
  return {
    /**
     * Distinguishes queries by their text, or by the text hash if texts are not stored. Golden queries come from the
     * latest complete run of each golden set, regardless of its age.
     *
     * @param ids chunk ids to check; the result lists those that were retrieved
     */
    async documents(
      { pipeline, since, k, limit }: ReturnedWindow,
      ids: readonly string[],
    ): Promise<ReturnedDocuments & { readonly retrieved: ReadonlySet<string> }> {
      const rows = await queryRows<ReturnedDocuments & { retrieved: readonly string[] }>(
        pool,
        `with live as (
           select distinct on (query) query, id, text, results
             from (select coalesce(text, text_hash, id) as query, id, text, results
                     from live_queries
                    where pipeline = $1::text and received_on >= ($2::timestamptz at time zone 'UTC')::date
                      and received_at >= $2::timestamptz and outcome = 'ok'
                    order by received_at desc limit $5::integer) newest
            order by query, id
         ), runs as (
           select distinct on (golden_set) id, golden_set
             from golden_runs
            where pipeline = $1::text and purpose = 'full' and status = 'completed'
            order by golden_set, started_at desc
         ), asked as (
           select coalesce(text, id) as example,
                  array(select distinct found.value ->> 0
                          from jsonb_array_elements(results) with ordinality as found (value, place)
                         where place <= $3::integer) as documents
             from live
           union all
           select runs.golden_set || ' ' || query_id, array(select distinct unnest(document_ids[1:$3::integer]))
             from golden_run_answers join runs on runs.id = run_id
            where outcome = 'ok'
         ), counted as (
           select document as id, count(*)::integer as queries, (array_agg(example order by example))[1:${EXAMPLES}] as examples
             from asked, unnest(documents) as document
            group by document
         )
         select (select count(*)::integer from asked) as queries,
                (select count(*)::integer from counted) as documents,
                (select coalesce(sum(queries), 0)::integer from counted) as results,
                (select coalesce(json_agg(most), '[]')
                   from (select * from counted order by queries desc, id limit ${MAX_DOCUMENTS}) most) as top,
                array(select id from counted where id = any($4::text[])) as retrieved`,
        [pipeline, since, k, ids, limit],
      );
      const { retrieved = [], ...found } = rows[0] ?? { queries: 0, documents: 0, results: 0, top: [] };
      return { ...found, retrieved: new Set(retrieved) };
    },
  };
}

export type FoundOfKind = IndexStatus['found'][number];

export type IndexStatus = Awaited<ReturnType<typeof readIndexStatus>>;

export async function readIndexStatus({ db, reads, indexPlans }: Context, pipeline: string, now: Date, limit: number) {
  const { rounds, documents: documentsTable } = db.index;
  const status = (await rounds.statuses()).find((one) => one.pipeline === pipeline);
  const counts = await rounds.countFindings(pipeline);
  /** Documents with findings, grouped by kind of finding, oldest finding first. */
  const found: { readonly kind: NamedKind; readonly count: number; readonly documents: readonly NamedDocument[] }[] =
    [];
  for (const kind of findingKinds) {
    const documents = await rounds.findings(pipeline, kind, limit);
    found.push({ kind, count: counts.get(kind)?.count ?? 0, documents });
  }
  const plan = indexPlans.find((one) => one.pipeline === pipeline);
  if (plan !== undefined) {
    const until = new Date(now.getTime() - plan.lateAfterMs);
    found.push({ kind: 'late', ...(await documentsTable.late(pipeline, until, limit)) });
  }
  const latest = await reads.measurements.latest(now);
  return {
    /** Time at which the last complete round ended. */
    checkedAt: status?.endedAt ?? null,
    /** Number of documents in the manifest. */
    documents: status?.documents ?? null,
    measures: latest
      .filter((one) => one.pipeline === pipeline && placeOf(one) >= 0)
      .toSorted((a, b) => placeOf(a) - placeOf(b)),
    found,
  };
}

export type IndexPageData = Awaited<ReturnType<typeof readIndexPage>>;

const LISTED_DOCUMENTS = 50;
const LISTED_DEPLOYMENTS = 5;
/** Time range of the hub section on the page. */
const HUBS_MS = 7 * DAY_MS;
/** Limits of the hub section: fewer queries than for the command, because the page is opened often. */
const hubsWindow = { k: 10, limit: 5000 };
const DRAWN_CHUNKS = 1000;
const DRAW_LIMIT_MS = 30_000;

export async function readIndexPage(context: Context, pipeline: string, isIndexed: boolean, isDrawn: boolean) {
  const { db, reads, clock, pipelines } = context;
  const store = pipelines.find(({ name }) => name === pipeline)?.store ?? null;
  const now = clock.now();
  const status = await readIndexStatus(context, pipeline, now, LISTED_DOCUMENTS);
  const latest = await db.live.deployments.list({ pipeline, limit: LISTED_DEPLOYMENTS });
  const window = {
    pipeline,
    since: new Date(now.getTime() - HUBS_MS),
    ...hubsWindow,
    chunks: isDrawn ? DRAWN_CHUNKS : 0,
  };
  return {
    ...status,
    pipeline,
    isIndexed,
    /** Forbidden documents returned in the latest golden runs and sentinel runs. */
    leaks: await readLeaks(db.golden.runs, pipeline),
    returned: await readHubs(reads.index.returned, store, window, AbortSignal.timeout(DRAW_LIMIT_MS)),
    /** True if chunks were sampled from the store to find dead chunks. */
    isDrawn,
    deployments: latest,
    now,
  };
}

const SEARCHED_RUNS = 50;

/**
 * Reads the forbidden documents that the latest run of each golden set returned. Sentinel runs count too, because they
 * send every query that has forbidden documents.
 */
async function readLeaks(runs: GoldenRuns, pipeline: string) {
  const recent = await Promise.all(
    (['full', 'sentinel'] as const).map((purpose) => runs.list({ pipeline, purpose, limit: SEARCHED_RUNS })),
  );
  const asked = recent
    .flat()
    .filter(({ forbidden }) => (forbidden?.asked ?? 0) > 0)
    .toSorted((a, b) => endOf(b).getTime() - endOf(a).getTime());
  const leaks = [];
  for (const goldenSet of new Set(asked.map((run) => run.goldenSet)))
    leaks.push(...(await leaksOf(runs, asked, goldenSet)));
  return leaks;
}

/** @param asked runs of all golden sets, latest first */
async function leaksOf(runs: GoldenRuns, asked: readonly GoldenRun[], goldenSet: string) {
  // `since`: end of the first run in the current streak of runs that returned the document.
  let leaks: (ForbiddenResult & Readonly<Record<'goldenSet' | 'runId', string>> & { readonly since: Date })[] = [];
  let streak = new Set<string>();
  const ended = asked.filter((run) => run.goldenSet === goldenSet);
  for (const [place, run] of ended.entries()) {
    const { id: runId } = run;
    const results = await runs.forbidden(runId);
    const since = endOf(run);
    if (place === 0) leaks = results.map((result) => ({ ...result, goldenSet, runId, since }));
    const returned = new Set(results.map(keyOf));
    streak = place === 0 ? returned : new Set([...streak].filter((key) => returned.has(key)));
    if (streak.size === 0) break;
    leaks = leaks.map((leak) => (streak.has(keyOf(leak)) ? { ...leak, since } : leak));
  }
  return leaks;
}

function endOf({ finishedAt, startedAt }: GoldenRun): Date {
  return finishedAt ?? startedAt;
}

function keyOf({ queryId, documentId }: ForbiddenResult): string {
  return JSON.stringify([queryId, documentId]);
}

function placeOf({ measure }: LatestMeasurement): number {
  return indexMeasureNames.indexOf(measure);
}
