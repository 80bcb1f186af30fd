/**
 * Generates, inside the database, the rows of a fleet that has been running for weeks, because sending them would take
 * a day.
 */
import type { Client } from 'pg';
import { causes } from '../../src/incidents/diagnosis/rules/cause.ts';
import { signNames } from '../../src/incidents/diagnosis/rules/signs.ts';
import { asNumbers } from '../../src/measures/measurement-history.ts';

export interface HistoryShape {
  readonly pipelines: number;
  /** Number of sampled live queries per day, over all pipelines. */
  readonly liveQueriesPerDay: number;
  readonly goldenQueries: number;
  /** End of the history: all rows are older. */
  readonly until: Date;
}

/** The pipeline with all features; the other pipelines have only golden runs and live traffic. */
export const FULL_PIPELINE = 'p0';

/**
 * The next five constants are numbers of rows per pipeline and day. Golden runs, measurements and live queries are
 * written in addition.
 */
const DEPLOYMENTS_A_DAY = 1;
const INCIDENTS_A_DAY = 1;
const TRANSITIONS_A_DAY = 8;
const JUDGED_A_DAY = 200;
const SHADOWED_A_DAY = 100;

/** The counts of older live queries are stored per hour, as in the daemon. */
const MINUTE_DAYS = 32;

/** Measures with a value every five minutes. */
const liveMeasures = [
  'samples_read_ratio',
  'queries',
  'zero_results_ratio',
  'error_ratio',
  'click_through_ratio',
  'clicked_query_ratio',
  'clicked_reciprocal_rank',
  'feedback_positive_ratio',
];
/** Measures of the full pipeline with a value every hour. */
const hourlyMeasures = [
  'query_density',
  'query_uncovered_ratio',
  'query_uncovered_excess_ratio',
  'ann_recall@10',
  'index_missing_ratio',
  'live_ndcg@5',
  'live_hit_rate@5',
];

const measuresOfRuns = ['f1', 'hit_rate', 'map', 'mrr', 'ndcg', 'ndcg_exp', 'precision', 'recall', 'unjudged'];

/** Writes the queries and judgments of the golden set, and its pinned run, with which all other runs are compared. */
export async function writeGoldenSet(client: Client, shape: HistoryShape): Promise<void> {
  const run = runner(client);
  await run(
    `insert into golden_sets (name, version, content_hash, format, imported_at, queries, judgments)
     values ('faq', 1, 'faq', 'csv', $1::timestamptz - interval '100 days', $2::integer, $2::integer)`,
    shape.until,
    shape.goldenQueries,
  );
  await run(
    `insert into golden_queries (golden_set, version, query_id, position, text, tags)
     select 'faq', 1, 'q' || i, i, 'question ' || i, '{}' from generate_series(1, $1::integer) i`,
    shape.goldenQueries,
  );
  await run(
    `insert into golden_judgments (golden_set, version, query_id, document_id, grade)
     select 'faq', 1, 'q' || i, 'd' || i, 1 from generate_series(1, $1::integer) i`,
    shape.goldenQueries,
  );
  await writeRuns(run, shape, `'pinned-p' || p`, 'generate_series(0, 0) as h', `'manual'`, 8 * 24 * 60 + 30);
  await run(
    `insert into golden_baselines (pipeline, golden_set, run_id, noise, pinned_at)
     select pipeline, golden_set, id, '{}', finished_at from golden_runs where trigger = 'manual'`,
  );
}

/** Writes the rows of all days with an age from `newest` to `oldest`, in days. */
export async function writeDays(client: Client, shape: HistoryShape, newest: number, oldest: number): Promise<void> {
  const run = runner(client);
  const hours = `generate_series(${newest * 24}, ${oldest * 24 - 1}) as h`;
  await writeRuns(run, shape, `'run-p' || p || '-' || h`, hours, `'schedule'`, 0);
  await writeMeasurements(run, shape, newest, oldest);
  await writeRecord(run, shape, newest, oldest);
  await writeTraffic(run, shape, newest, oldest);
  await writeFullPipeline(run, shape, newest, oldest);
}

type Run = (sql: string, ...values: readonly unknown[]) => Promise<void>;

function runner(client: Client): Run {
  return async (sql, ...values) => {
    await client.query({ text: sql, values: [...values] });
  };
}

/** @param minutesAgo age of the newest run */
async function writeRuns(
  run: Run,
  { pipelines, goldenQueries, until }: HistoryShape,
  id: string,
  hours: string,
  trigger: string,
  minutesAgo: number,
): Promise<void> {
  const settings = {
    cutoffs: [5, 10],
    relevanceLevel: 1,
    concurrency: 4,
    maxPerSecond: 20,
    onError: 'score_zero',
    errorBudget: 0.05,
    segmentKeys: [],
    maxSegments: 50,
  };
  await run(
    `create temp table new_runs as
     select ${id} as id, 'p' || p as pipeline, ${trigger}::text as trigger, h,
            date_trunc('hour', $1::timestamptz) - h * interval '1 hour' - $3::integer * interval '1 minute' as at,
            -- A night each fortnight is bad, and a hundredth of all runs is void.
            case when h % 336 between 100 and 108 then 0.2 else 0 end as drop, h % 100 = 99 and ${trigger} = 'schedule' as is_void
       from generate_series(0, $2::integer - 1) p, ${hours}`,
    until,
    pipelines,
    minutesAgo,
  );
  await run(
    `insert into golden_runs (id, pipeline, golden_set, golden_set_version, trigger, scheduled_for, settings, status, reason,
                              started_at, deadline_at, finished_at, fingerprints, labels_probed, labels_stale, queries_dead)
     select id, pipeline, 'faq', 1, trigger, case when trigger = 'schedule' then at end, $1::jsonb,
            case when is_void then 'void' else 'completed' end, case when is_void then 'Half of the queries failed.' end,
            at, at + interval '30 minutes', at + interval '20 seconds', '{"index": "a", "embedder": "b"}', 20, 0, 0 from new_runs`,
    JSON.stringify(settings),
  );
  await run(
    `insert into golden_run_answers (run_id, query_id, outcome, document_ids, scores, latency_ms, attempts, answered_at)
     select id, 'q' || q, case when is_void and q % 2 = 0 then 'error' else 'ok' end,
            case when is_void and q % 2 = 0 then '{}' else array['d' || q, 'd' || q + 100, 'd' || q + 200, 'd' || q + 300, 'd' || q + 400] end,
            case when is_void and q % 2 = 0 then '{}' else array[0.9, 0.8, 0.7, 0.6, 0.5] end, 12, 1, at
       from new_runs cross join generate_series(1, $1::integer) q`,
    goldenQueries,
  );
  await run(
    `insert into golden_run_scores (run_id, segment, measure, k, mean, n, ci_low, ci_high, ci_method)
     select id, 'all', m, k, v, $1::integer, v - 0.08, v + 0.08, 'bca'
       from (select id, m, k, 0.85 - drop + sin(h / 50.0) * 0.02 as v from new_runs
              cross join unnest($2::text[]) m cross join unnest(array[5, 10]) k where not is_void) s`,
    goldenQueries,
    measuresOfRuns,
  );
  await run(
    `insert into golden_run_checks (run_id, name, severity, verdict, value, ci_low, ci_high, n, threshold, is_beyond, explanation)
     select id, name, 'critical', case when is_void then 'no_data' when drop > 0 then 'critical' else 'ok' end,
            case when not is_void then 0.85 - drop end, 0.77 - drop, 0.93 - drop, $1::integer, 0.8, drop > 0,
            'ndcg@10 is ' || 0.85 - drop || ' (95 % ' || 0.77 - drop || ' to ' || 0.93 - drop || ', n = 20).'
       from new_runs cross join unnest(array['ndcg@10 below 0.8 on faq', 'ndcg@10 regression by 0.02 on faq', 'stale labels above 0.02 on faq']) name`,
    goldenQueries,
  );
  await run(
    `insert into golden_run_comparisons (run_id, kind, against, segment, measure, k, n, excluded, baseline, candidate, difference,
        ci_low, ci_high, ci_method, t, df, p_t, p_randomization, p_method, mcnemar_p, p, wins, losses, ties, standard_deviation,
        smallest_detectable_difference, verdict)
     select id, 'baseline', 'pinned-' || pipeline, 'all', m, k, $1::integer, 0, 0.85, 0.85 - drop, -drop, -drop - 0.02, -drop + 0.02, 't',
            1, 19, 0.5, 0.5, 'exact', null, case when drop > 0 then 0.0001 else 0.5 end, 1, 1, 18, 0.1, 0.02,
            case when drop > 0 then 'regression' else 'no_change' end
       from new_runs cross join unnest($2::text[]) m cross join unnest(array[5, 10]) k
      where not is_void and trigger = 'schedule'`,
    goldenQueries,
    measuresOfRuns,
  );
  await run('drop table new_runs');
}

async function writeMeasurements(
  run: Run,
  { pipelines, until }: HistoryShape,
  newest: number,
  oldest: number,
): Promise<void> {
  const columns =
    'pipeline, measure, segment, window_start, window_end, measured_at, value, ci_low, ci_high, ci_method, n, details';
  for (const month of monthsBetween(until, newest, oldest)) {
    await run(
      ['measurements', 'measurement_hours']
        .map(
          (table) => `create table if not exists ${table}_${month.replace('-', '')} partition of ${table}
            for values from ('${month}-01T00:00:00Z') to ('${nextMonth(month)}-01T00:00:00Z')`,
        )
        .join(';'),
    );
  }
  const rows = (ofPipelines: string, measures: string, minutes: number): string => `
    select ${ofPipelines} as pipeline, m as measure, 'all' as segment, at - interval '1 day' as window_start, at as window_end, at as measured_at,
           -- An hour each week is far out, which a page must not smooth away.
           case when i % ${Math.round((7 * 1440) / minutes)} = 30 then 0.9 else 0.3 + sin(i / 40.0) * 0.05 end as value, 0.2, 0.95, 'wilson', 1000,
           case when m = 'feedback_positive_ratio'
                then '{"explicit": {"positive": 8, "negative": 2}, "implicit": {"positive": 5, "negative": 5}}'::jsonb else '{}' end
      from (select m, i, date_trunc('minute', $1::timestamptz) - i * ${minutes} * interval '1 minute' as at
              from generate_series(${(newest * 1440) / minutes}, ${(oldest * 1440) / minutes - 1}) i cross join unnest(${measures}) m) s`;
  const live = `${rows(`'p' || p`, '$3::text[]', 5)} cross join generate_series(0, $2::integer - 1) p`;
  await run(`insert into measurements (${columns}) ${live}`, until, pipelines, liveMeasures);
  const hourly = rows(`'${FULL_PIPELINE}'`, '$2::text[]', 60);
  await run(`insert into measurements (${columns}) ${hourly}`, until, hourlyMeasures);
  await run(
    `insert into measurement_hours (pipeline, measure, segment, hour, lowest, highest)
     select pipeline, measure, segment, date_trunc('hour', window_end, 'UTC'), min(${asNumbers}), max(${asNumbers}) from measurements m
      where window_end <= date_trunc('minute', $1::timestamptz) - $2::integer * interval '1 day'
        and window_end > date_trunc('minute', $1::timestamptz) - $3::integer * interval '1 day'
      group by 1, 2, 3, 4
     on conflict (pipeline, measure, segment, hour) do update
        set lowest = least(measurement_hours.lowest, excluded.lowest), highest = greatest(measurement_hours.highest, excluded.highest)`,
    until,
    newest,
    oldest,
  );
  if (newest > 0) return;
  await run(
    `insert into latest_measurements (${columns})
     select distinct on (pipeline, measure, segment) ${columns} from measurements
      where window_end > $1::timestamptz - interval '2 hours' order by pipeline, measure, segment, window_end desc
     -- The daemon may have measured since it started.
     on conflict do nothing`,
    until,
  );
}

/** Writes deployments, incidents with their diagnoses and messages, changes of check states, and user actions. */
async function writeRecord(
  run: Run,
  { pipelines, until }: HistoryShape,
  newest: number,
  oldest: number,
): Promise<void> {
  const times = (aDay: number): string =>
    `(select 'p' || p as pipeline, i, $1::timestamptz - (i + 0.5) * interval '1 day' / ${aDay} as at
        from generate_series(0, $2::integer - 1) p cross join generate_series(${newest * aDay}, ${oldest * aDay - 1}) i order by i desc) e`;
  await run(
    `insert into deployments (pipeline, kind, version, note, source, occurred_at, changes)
     select pipeline, 'index', 'v' || i, 'A new index.', 'annotated', at, '[]' from ${times(DEPLOYMENTS_A_DAY)}`,
    until,
    pipelines,
  );
  const timeline = `jsonb_build_array(jsonb_build_object('name', 'ndcg@10 below 0.8 on faq', 'rule', 'RecalldCheckCritical', 'goldenSet', 'faq',
     'severity', 'critical', 'currentSeverity', null, 'openedAt', at, 'endedAt', at + interval '1 hour', 'criticalAt', jsonb_build_array(at),
     'recovered', 'nDCG@10 recovered to 0.82',
     'worst', jsonb_build_object('at', at, 'headline', 'nDCG@10 0.55, below 0.8', 'text', 'ndcg@10 is 0.55.', 'value', 0.55, 'comparedWith', null)))`;
  await run(
    `insert into incidents (pipeline, opened_at, closed_at, severity, evaluated_at, confirmed_at, timeline)
     select pipeline, at, at + interval '1 hour', 'critical', at + interval '1 hour', at + interval '1 minute', ${timeline}
       from ${times(INCIDENTS_A_DAY)}`,
    until,
    pipelines,
  );
  const sentence = 'It is a sentence of evidence with a number such as 0.55 in it, and what it was before.';
  const signs = signNames.slice(0, 8).map((name) => ({ name, state: 'fell', sentence, from: null, n: 100 }));
  const ranked = causes.slice(0, 3).map((cause, index) => ({
    cause,
    probability: [0.9, 0.07, 0.03][index],
    supporting: signs.slice(0, 3),
    opposing: [],
  }));
  await run(
    `insert into diagnoses (incident_id, diagnosed_at, cause, confidence, probability, summary, alerts, run_id, reference_run_id, findings)
     select i.id, i.opened_at + said * interval '1 minute', 'unknown', 'low', 0.9, 'ndcg@10 on faq fell.', array['ndcg@10 below 0.8 on faq'],
            (select id from golden_runs r where r.pipeline = i.pipeline and golden_set = 'faq' and purpose = 'full' and started_at <= i.opened_at
              order by started_at desc limit 1), null, $1::jsonb
       from incidents i cross join generate_series(0, 1) said where not exists (select from diagnoses d where d.incident_id = i.id)`,
    JSON.stringify({ ranked, signs, also: [], weighed: signs.map(({ name }) => name), effects: [], failedShare: null }),
  );
  await run(
    `insert into notifications (incident_id, receiver, event, cause, due_at, next_attempt_at, attempts, sent_at)
     select i.id, 'receiver', event, 'unknown', i.opened_at, i.opened_at, 1, i.opened_at
       from incidents i cross join unnest(array['opened', 'closed']) event on conflict do nothing`,
  );
  await run(
    `insert into check_transitions (pipeline, check_name, severity, from_verdict, to_verdict, occurred_at, threshold, value, segment, explanation)
     select pipeline, 'ndcg@10 below 0.8 on faq', 'critical', case when i % 2 = 0 then 'ok' else 'critical' end,
            case when i % 2 = 0 then 'critical' else 'ok' end, at, 0.8, 0.7, null, 'ndcg@10 is 0.7: even the upper bound is below 0.8.'
       from ${times(TRANSITIONS_A_DAY)}`,
    until,
    pipelines,
  );
  await run(
    `insert into audit_log (at, by, act, pipeline, subject) select at, 'a person', 'pin_baseline', pipeline, 'run-' || i from ${times(1)}`,
    until,
    pipelines,
  );
}

/** Writes sampled live queries, feedback on a tenth of them, and the number of all live queries per minute. */
async function writeTraffic(
  run: Run,
  { pipelines, liveQueriesPerDay, until }: HistoryShape,
  newest: number,
  oldest: number,
): Promise<void> {
  for (let day = newest - 1; day <= oldest; day += 1) {
    const [from, to] = [dayOf(until, day), dayOf(until, day - 1)];
    for (const table of ['live_queries', 'feedback', 'query_coverage']) {
      await run(
        `create table if not exists ${table}_${from.replaceAll('-', '')} partition of ${table} for values from ('${from}') to ('${to}')`,
      );
    }
  }
  await run(
    `insert into live_queries (received_on, pipeline, id, received_at, occurred_at, session_hash, text, top_k, outcome, results, latency_ms,
                               segments, probability, keep_reason, unit_hash, rate_probability, level)
     select (at at time zone 'utc')::date, 'p' || i % $2::integer, 'live-' || i, at, at, md5((i / $2::integer / 3)::text),
            'What about number ' || i % 5000 || '?', 5, case when i % 50 = 0 then 'empty' else 'ok' end,
            case when i % 50 = 0 then '[]'::jsonb else jsonb_build_array(jsonb_build_array('d' || i % 997, 0.9), jsonb_build_array('d' || i % 991, 0.8)) end,
            12, '{}', 1, 'rate', (i % 1000) / 1000.0, 1, 0
       from (select i, $1::timestamptz - i * interval '1 day' / $3::integer as at
               from generate_series($4::bigint, $5::bigint) i) q`,
    until,
    pipelines,
    liveQueriesPerDay,
    newest * liveQueriesPerDay + 1,
    oldest * liveQueriesPerDay,
  );
  await run(
    `insert into feedback (received_on, pipeline, id, received_at, occurred_at, query_id, kind, sentiment, counted, user_hash)
     select received_on, pipeline, id, received_at, occurred_at, id, 'thumb', case when id like '%00' then 'negative' else 'positive' end, true, session_hash
       from live_queries where id like 'live-%0' and received_at <= $1::timestamptz - $2::integer * interval '1 day'
     on conflict do nothing`,
    until,
    newest,
  );
  await run(
    `insert into live_query_counts (pipeline, minute, outcome, queries)
     select 'p' || p, minute, 'ok', sum(10)
       from generate_series(0, $2::integer - 1) p
      cross join (select case when i < ${MINUTE_DAYS * 1440} then at else date_trunc('hour', at, 'UTC') end as minute
                    from (select i, date_trunc('minute', $1::timestamptz) - i * interval '1 minute' as at
                            from generate_series($3::integer, $4::integer) i) m) q
      group by p, minute
     on conflict (pipeline, minute, outcome) do nothing`,
    until,
    pipelines,
    newest * 1440 + 1,
    oldest * 1440,
  );
}

/** Writes judged live queries, shadow results, coverage and density windows of one pipeline. */
async function writeFullPipeline(run: Run, { until }: HistoryShape, newest: number, oldest: number): Promise<void> {
  const drawn = `select q.*, row_number() over (partition by received_on order by id) as place from live_queries q
    where pipeline = '${FULL_PIPELINE}' and received_at <= $1::timestamptz - $2::integer * interval '1 day'
      and received_at > $1::timestamptz - $3::integer * interval '1 day'`;
  await run(
    `insert into judged_queries (pipeline, query_id, received_on, received_at, cluster, outcome, segments, probability, human_draw, needs_human,
                                 documents, state, due_at)
     select pipeline, id, received_on, received_at, unit_hash, outcome, '{}', 0.1, unit_hash, place % 10 = 0,
            (select coalesce(jsonb_agg(jsonb_build_array(r ->> 0, md5(r ->> 0))), '[]') from jsonb_array_elements(results) r), 'graded', received_at
       from (${drawn}) d where place <= ${JUDGED_A_DAY} on conflict do nothing`,
    until,
    newest,
    oldest,
  );
  await run(
    `insert into judgments (pipeline, query_id, document_id, judge, grade, text_hash, content_hash, fingerprint, judged_at)
     select pipeline, query_id, d ->> 0, judge, 2, md5(query_id), d ->> 1, 'judge', received_at
       from judged_queries cross join lateral jsonb_array_elements(documents) d cross join unnest(array['model', 'person']) judge
      where judge = 'model' or needs_human on conflict do nothing`,
  );
  await run(
    `insert into judged_documents (pipeline, content_hash, content, seen_at)
     select distinct pipeline, d ->> 1, 'A text of a document.', now() from judged_queries cross join lateral jsonb_array_elements(documents) d
     on conflict do nothing`,
  );
  await run(
    `insert into shadow_answers (pipeline, shadow, fingerprint, query_id, received_at, asked_at, cluster, probability, outcome, document_ids,
                                 overlap, is_changed, latency_ms, purpose)
     select pipeline, 'other', 'a', id, received_at, received_at, unit_hash, 0.05, 'ok', array['d1', 'd2'], 0.8, place % 2 = 0, 20, 'overlap'
       from (${drawn}) d where place <= ${SHADOWED_A_DAY} on conflict do nothing`,
    until,
    newest,
    oldest,
  );
  await run(
    `insert into query_coverage (received_on, pipeline, id, status, attempts, thinning, nearest, fingerprint, scored_at)
     select received_on, pipeline, id, 'measured', 1, 1,
            (select jsonb_agg(jsonb_build_array('d' || k, 0.9 - k / 50.0 - unit_hash / 5)) from generate_series(1, 5) k), 'a', received_at
       from (${drawn}) d on conflict do nothing`,
    until,
    newest,
    oldest,
  );
  await run(
    `insert into density_windows (pipeline, window_end, window_start, totals)
     select '${FULL_PIPELINE}', at, at - interval '1 hour', '{}'
       from (select date_trunc('hour', $1::timestamptz) - h * interval '1 hour' as at from generate_series($2::integer * 24, $3::integer * 24 - 1) h) w
     on conflict do nothing`,
    until,
    newest,
    oldest,
  );
  await run(
    `insert into density_events (pipeline, kind, occurred_at, sentence, details)
     select '${FULL_PIPELINE}', case when i % 2 = 0 then 'ticket' else 'resolve' end, $1::timestamptz - i * interval '1 day', 'Coverage fell.', '{}'
       from generate_series($2::integer, $3::integer - 1) i order by i desc`,
    until,
    newest,
    oldest,
  );
}

function dayOf(until: Date, daysBack: number): string {
  return new Date(until.getTime() - daysBack * 86_400_000).toISOString().slice(0, 10);
}

function monthsBetween(until: Date, newest: number, oldest: number): string[] {
  const days = Array.from({ length: oldest - newest + 3 }, (_, index) => dayOf(until, newest - 1 + index));
  return [...new Set(days.map((day) => day.slice(0, 7)))];
}

function nextMonth(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 7);
}
