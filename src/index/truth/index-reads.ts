/**
 * How the index of a pipeline stands, for commands and pages; and its hubs, chunks that come back for far more
 * questions than their share, beside chunks that never do.
 */
import type pg from 'pg';
import type { VectorStore } from '../../connectors/stores/vector-store.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { DAY_MS } from '../../core/time.ts';
import type { ForbiddenResult } from '../../golden/rules/forbidden-results.ts';
import type { GoldenRun } from '../../golden/rules/run.ts';
import type { GoldenRuns } from '../../golden/sql/golden-runs.ts';
import type { Deployment } from '../../live/deployments/rules/deployment.ts';
import type { LatestMeasurement } from '../../measures/measurements.ts';
import { queryRows } from '../../platform/postgres/rows.ts';
import { indexMeasureNames } from './measure-index.ts';
import type { NamedDocument } from './rounds-table.ts';
import { findingKinds, type NamedKind } from './rules/findings.ts';
import { deadChunks, hubsOf, type ReturnedDocuments } from './rules/hubs.ts';

export type HubsReport = Awaited<ReturnType<typeof readHubs>>;

const OTHER_IDS = 'None of the chunks drawn from the store ever came back; the answers seem to have other ids.';

/**
 * @param chunks that are drawn from the store to find dead ones; 0 draws none
 * @throws RecalldError store_unreachable
 */
export async function readHubs(
  returned: ReturnedReads,
  store: VectorStore | null,
  { chunks, ...window }: ReturnedWindow & { readonly chunks: number },
  signal: AbortSignal,
) {
  const drawn = await drawIds(store, chunks, signal);
  const { back, ...found } = await returned.documents(window, drawn.ids);
  const hubs = hubsOf(found);
  const dead = drawn.why === null && hubs !== null ? deadChunks(drawn.ids, back) : null;
  const why = drawn.why ?? (dead === null ? OTHER_IDS : null);
  return {
    questions: found.questions,
    documents: found.documents,
    /** Null where too few questions were answered to tell. */
    hubs,
    /** Null where nothing was drawn, the store cannot be sampled, or its ids are not those of the answers; `why` says which. */
    dead,
    why,
  };
}

async function drawIds(
  store: VectorStore | null,
  n: number,
  signal: AbortSignal,
): Promise<{ readonly ids: readonly string[]; readonly why: string | null }> {
  if (n === 0) return { ids: [], why: 'Nothing was drawn.' };
  if (store === null) return { ids: [], why: 'The config names no vector_store to draw chunks from.' };
  const sample = await store.sample({ n, seed: 1, withContent: false }, signal);
  if (sample.kind === 'unsupported') return { ids: [], why: sample.reason };
  if (sample.kind === 'failed') throw new RecalldError('store_unreachable', sample.message);
  const { ids } = sample.value;
  return { ids, why: ids.length === 0 ? 'The store is empty.' : null };
}

export interface ReturnedWindow {
  readonly pipeline: string;
  readonly since: Date;
  /** Places of an answer that are looked at. */
  readonly k: number;
  /** The newest live queries that are read at most. */
  readonly most: number;
}

/** More would be no hubs. */
const MAX_DOCUMENTS = 200;
const EXAMPLES = 3;

export type ReturnedReads = ReturnType<typeof createReturnedReads>;

export function createReturnedReads(pool: pg.Pool) {
  return {
    /**
     * Questions are told apart by their text, or its hash where no text is kept. Of golden sets the latest complete run
     * of each counts, whenever it was.
     *
     * @param ids which of these came back is told beside it
     */
    async documents(
      { pipeline, since, k, most }: ReturnedWindow,
      ids: readonly string[],
    ): Promise<ReturnedDocuments & { readonly back: ReadonlySet<string> }> {
      const rows = await queryRows<ReturnedDocuments & { back: readonly string[] }>(
        pool,
        `with live as (
           select distinct on (question) question, id, text, results
             from (select coalesce(text, text_hash, id) as question, id, text, results
                     from live_queries
                    where pipeline = $1::text and received_on >= ($2::timestamptz at time zone 'UTC')::date
                      and received_at >= $2::timestamptz and outcome = 'ok'
                    order by received_at desc limit $5::integer) newest
            order by question, id
         ), runs as (
           select distinct on (golden_set) id, golden_set
             from golden_runs
            where pipeline = $1::text and purpose = 'full' and status = 'completed'
            order by golden_set, started_at desc
         ), asked as (
           select coalesce(text, id) as shown,
                  array(select distinct found.value ->> 0
                          from jsonb_array_elements(results) with ordinality as found (value, place)
                         where place <= $3::integer) as documents
             from live
           union all
           select runs.golden_set || ' ' || query_id, array(select distinct unnest(document_ids[1:$3::integer]))
             from golden_run_answers join runs on runs.id = run_id
            where outcome = 'ok'
         ), counted as (
           select document as id, count(*)::integer as questions, (array_agg(shown order by shown))[1:${EXAMPLES}] as examples
             from asked, unnest(documents) as document
            group by document
         )
         select (select count(*)::integer from asked) as questions,
                (select count(*)::integer from counted) as documents,
                (select coalesce(sum(questions), 0)::integer from counted) as places,
                (select coalesce(json_agg(most), '[]')
                   from (select * from counted order by questions desc, id limit ${MAX_DOCUMENTS}) most) as top,
                array(select id from counted where id = any($4::text[])) as back`,
        [pipeline, since, k, ids, most],
      );
      const { back = [], ...found } = rows[0] ?? { questions: 0, documents: 0, places: 0, top: [] };
      return { ...found, back: new Set(back) };
    },
  };
}

export interface FoundOfKind {
  readonly kind: NamedKind;
  readonly count: number;
  /** Those that were found first. */
  readonly documents: readonly NamedDocument[];
}

export type IndexStatus = Awaited<ReturnType<typeof readIndexStatus>>;

export async function readIndexStatus({ db, reads, indexPlans }: Context, pipeline: string, now: Date, most: number) {
  const { rounds, documents: documentsTable } = db.index;
  const status = (await rounds.statuses()).find((one) => one.pipeline === pipeline);
  const counts = await rounds.countFindings(pipeline);
  const found: FoundOfKind[] = [];
  for (const kind of findingKinds) {
    const documents = await rounds.findings(pipeline, kind, most);
    found.push({ kind, count: counts.get(kind)?.count ?? 0, documents });
  }
  const plan = indexPlans.find((one) => one.pipeline === pipeline);
  if (plan !== undefined) {
    const until = new Date(now.getTime() - plan.lateAfterMs);
    found.push({ kind: 'late', ...(await documentsTable.late(pipeline, until, most)) });
  }
  const latest = await reads.measurements.latest(now);
  return {
    /** When the last whole round ended. */
    checkedAt: status?.endedAt ?? null,
    /** That the manifest names. */
    documents: status?.documents ?? null,
    measures: latest
      .filter((one) => one.pipeline === pipeline && placeOf(one) >= 0)
      .toSorted((a, b) => placeOf(a) - placeOf(b)),
    found,
  };
}

export interface IndexPageData extends IndexStatus {
  readonly pipeline: string;
  /** Whether the config has `index` for it. */
  readonly isIndexed: boolean;
  /** What the latest golden runs and sentinels brought although their sets forbid it. */
  readonly leaks: readonly Leak[];
  /** What came back for the questions of the last days. */
  readonly returned: HubsReport;
  /** Whether chunks were drawn from the store to find those that never come back. */
  readonly isDrawn: boolean;
  readonly deployments: readonly Deployment[];
  readonly now: Date;
}

/** A forbidden document that came back, asked twice. */
interface Leak extends ForbiddenResult {
  readonly goldenSet: string;
  readonly runId: string;
  /** End of the first of the runs in a row that brought it. */
  readonly since: Date;
}

const LISTED_DOCUMENTS = 50;
const LISTED_DEPLOYMENTS = 5;
/** A page is read often, so that it looks at less than the command. */
const HUBS_MS = 7 * DAY_MS;
const looked = { k: 10, most: 5000 };
const DRAWN_CHUNKS = 1000;
/** A page is waited for no longer. */
const DRAW_LIMIT_MS = 30_000;

export async function readIndexPage(
  context: Context,
  pipeline: string,
  isIndexed: boolean,
  isDrawn: boolean,
): Promise<IndexPageData> {
  const { db, reads, clock, pipelines } = context;
  const store = pipelines.find(({ name }) => name === pipeline)?.store ?? null;
  const now = clock.now();
  const status = await readIndexStatus(context, pipeline, now, LISTED_DOCUMENTS);
  const latest = await db.live.deployments.list({ pipeline, limit: LISTED_DEPLOYMENTS });
  const window = { pipeline, since: new Date(now.getTime() - HUBS_MS), ...looked, chunks: isDrawn ? DRAWN_CHUNKS : 0 };
  return {
    ...status,
    pipeline,
    isIndexed,
    leaks: await readLeaks(db.golden.runs, pipeline),
    returned: await readHubs(reads.index.returned, store, window, AbortSignal.timeout(DRAW_LIMIT_MS)),
    isDrawn,
    deployments: latest,
    now,
  };
}

/** More golden sets of one pipeline than have ended a run, or a sentinel, of theirs among so many. */
const RUNS_LOOKED_THROUGH = 50;

/** Of the latest run of each golden set that asked for forbidden documents; sentinels ask for all of them too. */
async function readLeaks(runs: GoldenRuns, pipeline: string): Promise<Leak[]> {
  const recent = await Promise.all(
    (['full', 'sentinel'] as const).map((purpose) => runs.list({ pipeline, purpose, limit: RUNS_LOOKED_THROUGH })),
  );
  const asked = recent
    .flat()
    .filter(({ forbidden }) => (forbidden?.asked ?? 0) > 0)
    .toSorted((a, b) => endOf(b).getTime() - endOf(a).getTime());
  const leaks: Leak[] = [];
  for (const goldenSet of new Set(asked.map((run) => run.goldenSet)))
    leaks.push(
      ...(await leaksOf(
        runs,
        asked.filter((run) => run.goldenSet === goldenSet),
      )),
    );
  return leaks;
}

/** @param ended of one golden set, the latest first */
async function leaksOf(runs: GoldenRuns, ended: readonly GoldenRun[]): Promise<Leak[]> {
  let leaks: readonly Leak[] = [];
  let still = new Set<string>();
  for (const [place, run] of ended.entries()) {
    const { id: runId, goldenSet } = run;
    const results = await runs.forbidden(runId);
    const since = endOf(run);
    if (place === 0) leaks = results.map((result) => ({ ...result, goldenSet, runId, since }));
    const brought = new Set(results.map(keyOf));
    still = place === 0 ? brought : new Set([...still].filter((key) => brought.has(key)));
    if (still.size === 0) break;
    leaks = leaks.map((leak) => (still.has(keyOf(leak)) ? { ...leak, since } : leak));
  }
  return [...leaks];
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
