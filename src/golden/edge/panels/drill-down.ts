/** Grafana tables from PostgreSQL. The tables show ids, never texts. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { sqlTable, verdictColors } from '../../../platform/dashboards/panels.ts';

/** Width of a column with a date and a time, in pixels. */
const WHEN = 190;

const chosenPipelines = 'pipeline in (${pipeline:sqlstring})';
const chosenSets = `${chosenPipelines} and golden_set in (\${golden_set:sqlstring})`;

/** For each selected pipeline and golden set, the latest completed full run that ended within the time range. */
const latestRuns = `
select distinct on (pipeline, golden_set) *
from golden_runs
where status = 'completed' and purpose = 'full' and ${chosenSets} and $__timeFilter(finished_at)
order by pipeline, golden_set, finished_at desc`;

/**
 * nDCG at the selected cutoff (gain = grade) and the rank of the first relevant document, for each query of the runs.
 * Ranks are assigned as in `rankingOf`; a query without results scores 0.
 */
export function scoredQueries(runs: string): string {
  return `
select r.id as run_id, q.query_id, a.outcome, a.latency_ms,
  coalesce(found.gain / nullif(ideal.gain, 0), 0) as ndcg, found.first_relevant, found.relevant, ideal.relevant as relevant_in_all
from ${runs} r
join golden_queries q on q.golden_set = r.golden_set and q.version = r.golden_set_version
left join golden_run_answers a on a.run_id = r.id and a.query_id = q.query_id
cross join lateral (
  select sum(grade / log(2, rank + 1)) filter (where rank <= \${k}) as gain,
    count(*) filter (where grade >= (r.settings->>'relevanceLevel')::integer) as relevant
  from (
    select j.grade, row_number() over (order by j.grade desc) as rank
    from golden_judgments j
    where j.golden_set = q.golden_set and j.version = q.version and j.query_id = q.query_id and j.grade > 0
  ) judged
) ideal
cross join lateral (
  select sum(j.grade / log(2, ranked.rank + 1)) as gain,
    min(ranked.rank) filter (where j.grade >= (r.settings->>'relevanceLevel')::integer) as first_relevant,
    count(*) filter (where j.grade >= (r.settings->>'relevanceLevel')::integer) as relevant
  from (
    select document_id, min(rank) as rank
    from (
      select document_id, count(*) filter (where is_first or is_copy) over (order by place) as rank
      from (
        select document_id, place, row_number() over (partition by document_id order by place) = 1 as is_first,
          score is not null and row_number() over (partition by document_id, score order by place) > 1 as is_copy
        from unnest(a.document_ids, a.scores) with ordinality as returned (document_id, score, place)
      ) results
    ) places
    group by document_id
  ) ranked
  join golden_judgments j on j.golden_set = q.golden_set and j.version = q.version and j.query_id = q.query_id
    and j.document_id = ranked.document_id
  where ranked.rank <= \${k}
) found`;
}

export function worstQueriesTable(width: number): Builder<Panel> {
  return sqlTable({
    title: 'Worst queries of the latest run',
    description:
      'Queries with the lowest nDCG at the selected cutoff in the latest completed run. `recalld runs show RUN --per-query` shows their results.',
    width,
    columns: [
      { name: 'query', width: 240 },
      { name: 'nDCG', width: 80 },
      { name: 'rank', width: 80 },
      { name: 'found', width: 90 },
      { name: 'outcome', width: 100 },
      { name: 'latency', width: 100, unit: 'ms' },
    ],
    sql: `
with latest as (${latestRuns}), scored as (${scoredQueries('latest')})
select query_id as "query", round(ndcg::numeric, 4)::double precision as "nDCG", first_relevant as "rank",
  relevant || ' of ' || relevant_in_all as "found", coalesce(outcome, 'not asked') as "outcome",
  latency_ms as "latency", run_id as "run"
from scored
order by ndcg, query_id
limit 50`,
  });
}

export function mostRegressedTable(width: number): Builder<Panel> {
  return sqlTable({
    title: 'Most regressed queries since the baseline',
    description:
      'Queries whose nDCG at the selected cutoff dropped most from the pinned baseline to the latest completed run. Queries with a stale label are marked: update their judgments before you look for other causes. The ranks are those of the first relevant document.',
    width,
    columns: [
      { name: 'query', width: 215 },
      ...['baseline', 'latest', 'difference', 'rank before', 'rank now', 'stale label'].map((name) => ({
        name,
        width: 105,
      })),
    ],
    sql: `
with latest as (${latestRuns}),
pinned as (
  select r.*
  from golden_baselines b
  join golden_runs r on r.id = b.run_id
  where b.unpinned_at is null and ${chosenSets.replaceAll(/\b(pipeline|golden_set) in/g, 'b.$1 in')}
),
before as (${scoredQueries('pinned')}),
after as (${scoredQueries('latest')})
select after.query_id as "query", round(before.ndcg::numeric, 4)::double precision as "baseline",
  round(after.ndcg::numeric, 4)::double precision as "latest",
  round((after.ndcg - before.ndcg)::numeric, 4)::double precision as "difference",
  before.first_relevant as "rank before", after.first_relevant as "rank now",
  exists (
    select from golden_run_missing_documents s where s.run_id = after.run_id and s.query_id = after.query_id
      and s.fate <> 'lost'
  ) as "stale label"
from after
join latest on latest.id = after.run_id
join pinned on pinned.pipeline = latest.pipeline and pinned.golden_set = latest.golden_set
join before on before.run_id = pinned.id and before.query_id = after.query_id
where after.ndcg < before.ndcg
order by after.ndcg - before.ndcg, after.query_id
limit 50`,
  });
}

export function missingDocumentsTable(width: number): Builder<Panel> {
  return sqlTable({
    title: 'Missing judged documents of the latest run',
    description:
      'Judged documents that are missing from the vector store, highest grades first. Judgments of superseded and deleted documents are out of date; lost documents have no replacement.',
    width,
    sql: `
with latest as (${latestRuns})
select s.query_id as "query", s.document_id as "document", s.grade as "grade", s.fate as "fate", s.run_id as "run"
from golden_run_missing_documents s
join latest on latest.id = s.run_id
order by s.grade desc, s.query_id, s.document_id
limit 100`,
  });
}

export function runsTable(width: number): Builder<Panel> {
  return sqlTable({
    title: 'Runs',
    description: 'Golden runs within the time range, newest first.',
    width,
    columns: [
      { name: 'started', width: WHEN },
      { name: 'run', width: 230 },
      { name: 'purpose', width: 110 },
      { name: 'version', width: 90 },
      { name: 'status', width: 110 },
      { name: 'took', width: 100, unit: 's' },
      { name: 'stale labels', width: 110 },
    ],
    sql: `
select r.started_at as "started", r.id as "run", r.purpose as "purpose", r.golden_set_version as "version", r.status as "status",
  extract(epoch from r.finished_at - r.started_at)::double precision as "took", r.labels_stale as "stale labels",
  coalesce(r.reason, '') as "reason"
from golden_runs r
where ${chosenSets} and $__timeFilter(r.started_at)
order by r.started_at desc
limit 200`,
  });
}

export function comparisonsTable(width: number): Builder<Panel> {
  return sqlTable({
    title: 'Latest comparisons',
    description:
      'Comparisons over all queries at the selected cutoff. Each run is compared with the pinned baseline, and with the last run before the store or the model changed.',
    width,
    columns: [
      { name: 'verdict', width: 110, mappings: verdictColors },
      { name: 'finished', width: WHEN },
      { name: 'measure', width: 110 },
      ...['difference', 'low', 'high'].map((name) => ({ name, width: 100 })),
      ...['against', 'golden set', 'pipeline'].map((name) => ({ name, width: 110 })),
    ],
    sql: `
select c.verdict as "verdict", c.measure || '@' || c.k as "measure", c.difference as "difference", c.ci_low as "low",
  c.ci_high as "high", c.kind as "against", r.golden_set as "golden set", r.pipeline as "pipeline",
  date_trunc('second', r.finished_at) as "finished"
from golden_run_comparisons c
join golden_runs r on r.id = c.run_id
where c.segment = 'all' and c.k = \${k} and c.measure in ('ndcg', 'hit_rate', 'mrr') and ${chosenSets}
  and $__timeFilter(r.finished_at)
order by r.finished_at desc, c.measure
limit 60`,
  });
}

export function verdictsTable(width: number): Builder<Panel> {
  return sqlTable({
    title: 'Latest check results',
    description: 'The latest result and reason of each golden check within the time range.',
    width,
    columns: [
      { name: 'verdict', width: 90, mappings: verdictColors },
      { name: 'reason', isWrapped: true },
      { name: 'pipeline', width: 120 },
      { name: 'check', width: 220, isWrapped: true },
      { name: 'severity', width: 95 },
      { name: 'judged', width: WHEN },
    ],
    sql: `
select distinct on (r.pipeline, c.name, c.severity) c.verdict as "verdict", c.explanation as "reason",
  r.pipeline as "pipeline", c.name as "check", c.severity as "severity", date_trunc('second', r.finished_at) as "judged"
from golden_run_checks c
join golden_runs r on r.id = c.run_id
where ${chosenSets} and $__timeFilter(r.finished_at)
order by r.pipeline, c.name, c.severity, r.finished_at desc`,
  });
}

export function deploymentsTable(width: number): Builder<Panel> {
  return sqlTable({
    title: 'Deployments',
    description: 'Changes to the index, embedder, retriever and golden sets, reported to recalld or detected by it.',
    width,
    columns: [
      { name: 'when', width: WHEN },
      ...['pipeline', 'kind', 'version', 'source'].map((name) => ({ name, width: 120 })),
      { name: 'note', isWrapped: true },
    ],
    sql: `
select occurred_at as "when", pipeline as "pipeline", kind as "kind", version as "version", source as "source",
  coalesce(note, '') as "note"
from deployments
where ${chosenPipelines} and $__timeFilter(occurred_at)
order by occurred_at desc
limit 100`,
  });
}

export function measurementsTable(width: number): Builder<Panel> {
  return sqlTable({
    title: 'Latest measures',
    description:
      'The newest value of each measure with its 95 % CI and n. If later windows have no data, the table also shows the reason.',
    width,
    columns: [
      { name: 'measure', width: 250 },
      { name: 'segment', width: 90 },
      ...['value', 'low', 'high', 'n'].map((name) => ({ name, width: 80 })),
      { name: 'window ended', width: WHEN },
    ],
    sql: `
select coalesce(m.measure, g.measure) as "measure", coalesce(m.segment, g.segment) as "segment", m.value as "value",
  m.ci_low as "low", m.ci_high as "high", m.n as "n", date_trunc('second', m.window_end) as "window ended", coalesce(g.reason, '') as "no data since"
from (select * from latest_measurements where ${chosenPipelines}) m
full join (select * from measurement_gaps where ${chosenPipelines}) g
  on g.pipeline = m.pipeline and g.measure = m.measure and g.segment = m.segment
order by m.value is null, 1, 2`,
  });
}
