/**
 * The exported tables with the names, types and descriptions of their columns. The SQL statements, the files and docs/reference/export.md are derived from this list. A change to a name or a type needs a new `SCHEMA_VERSION`.
 */

export const SCHEMA_VERSION = 1;

export type CellType = 'text' | 'json' | 'integer' | 'bigint' | 'double' | 'boolean' | 'timestamp';

export interface ExportColumn {
  readonly name: string;
  readonly type: CellType;
  readonly does: string;
  /** SQL expression over the rows of the table. */
  readonly sql: string;
  /** True for user texts, which are null if `privacy.text` is `hash`. */
  readonly isPrivate: boolean;
}

export interface ExportTable {
  readonly name: string;
  readonly does: string;
  /**
   * SQL for the source rows; `r` is the main table. The number of rows and the time of their last change show whether a
   * day must be written again.
   */
  readonly source: string;
  /** SQL for the joins that turn source rows into exported rows. */
  readonly joins: string;
  /** SQL for the day (UTC) of a row. */
  readonly day: string;
  /** True if the source is partitioned by day; the rows of each day are then counted by a separate statement. */
  readonly isByDay: boolean;
  /** SQL for the time of a row's last change. */
  readonly changed: string;
  readonly columns: readonly ExportColumn[];
}

const columnOf =
  (type: CellType) =>
  (name: string, does: string, sql = `r.${name}`): ExportColumn => ({ name, type, does, sql, isPrivate: false });
const text = columnOf('text');
const json = columnOf('json');
const integer = columnOf('integer');
const bigint = columnOf('bigint');
const double = columnOf('double');
const boolean = columnOf('boolean');
const timestamp = columnOf('timestamp');
const userText = (name: string, does: string): ExportColumn => ({ ...text(name, does), isPrivate: true });

const dayOf = (time: string): string => `(r.${time} at time zone 'utc')::date`;

const pipeline = text('pipeline', 'Name of the pipeline.');
const queryId = text('query_id', 'Id of the query, as in `queries`.');
const receivedAt = timestamp('received_at', 'When recalld received the data.');
const occurredAt = timestamp('occurred_at', 'When the query or feedback occurred in the service.');
const userHash = text('user_hash', 'Keyed hash of the user id; null if there is no user id.');
const traceId = text('trace_id', 'Trace id of the query; null if there is none.');
const ciLow = (sql?: string) => double('ci_low', 'Lower bound of the 95 % CI.', sql);
const ciHigh = (sql?: string) => double('ci_high', 'Upper bound of the 95 % CI.', sql);

const byTime = (table: string, time: string, changed = `r.${time}`) => ({
  source: `${table} r`,
  joins: '',
  day: dayOf(time),
  isByDay: false,
  changed,
});
const ofLive = (table: string) => ({ ...byTime(table, 'received_at'), day: 'r.received_on', isByDay: true });
const ofRun = byTime('golden_runs', 'started_at', 'greatest(r.started_at, r.finished_at, r.answers_deleted_at)');
const runId = text('run_id', 'Id of the golden run, as in `golden_runs`.', 'r.id');
const goldenSet = text('golden_set', 'Name of the golden set.');

export const exportTables: readonly ExportTable[] = [
  {
    name: 'queries',
    does: 'Sampled live queries. To estimate values for all traffic, weight each query by 1 / `probability`.',
    ...ofLive('live_queries'),
    columns: [
      pipeline,
      text('query_id', 'Id of the query, unique within a pipeline and day.', 'r.id'),
      receivedAt,
      occurredAt,
      text('session_hash', 'Keyed hash of the first available id: session, episode, trace or query.'),
      userHash,
      traceId,
      text('episode', 'Id of the agent turn that made the query; null if there is none.'),
      integer('episode_step', 'Position in the agent turn; null if none was reported.'),
      userText('original_text', 'Original user query, before the agent rewrote it, redacted as configured.'),
      userText('text', 'Text of the query, redacted as configured; null in hash mode or if none was sent.'),
      text('text_hash', 'Keyed hash of the text; null if the text is stored.'),
      integer('top_k', 'Requested number of documents; null if unknown.'),
      text('outcome', '`ok`, `empty`, `error` or `timeout`.'),
      userText('error', 'Error message, redacted as configured.'),
      integer('documents', 'Number of returned documents.', 'jsonb_array_length(r.results)'),
      double('latency_ms', 'Latency of the retriever in milliseconds.'),
      json('segments', 'Segments of the query, such as its tenant, as an object.'),
      text('index_version', 'Version of the index that the service reported.'),
      text('embedder_version', 'Version of the embedder that the service reported.'),
      text('retriever_version', 'Version of the retriever that the service reported.'),
      double('probability', 'Probability with which the query was sampled, above 0 and at most 1.'),
      text('keep_reason', 'Why the query was stored: random sampling, or a rule in `sampling.always_keep`.'),
      integer(
        'context_characters',
        'Number of characters in the texts of all results; null if the results have no texts.',
      ),
      double(
        'context_repeated',
        'Share of the five-word sequences in the result texts that already occur in an earlier result.',
      ),
    ],
  },
  {
    name: 'results',
    does: 'Documents that sampled live queries returned: one row per query and rank.',
    ...ofLive('live_queries'),
    joins: 'cross join lateral jsonb_array_elements(r.results) with ordinality as d (entry, rank)',
    columns: [
      pipeline,
      text('query_id', 'Id of the query, as in `queries`.', 'r.id'),
      receivedAt,
      integer('rank', 'Rank of the document, starting at 1.', 'd.rank::integer'),
      text('document_id', 'Id of the document.', 'd.entry ->> 0'),
      double('score', 'Score of the document; null if there is none.', '(d.entry ->> 1)::double precision'),
      json('fields', 'Fields that isolation rules read, as an object.', "nullif(d.entry -> 2, 'null')"),
    ],
  },
  {
    name: 'feedback',
    does: 'User feedback on answers and documents: ratings, comments and actions.',
    ...ofLive('feedback'),
    columns: [
      pipeline,
      text('feedback_id', 'Id of the feedback, unique within a pipeline and day.', 'r.id'),
      queryId,
      receivedAt,
      occurredAt,
      text('kind', 'Kind of feedback, such as `thumb` or `click`.'),
      text('sentiment', '`positive`, `negative` or `neutral`.'),
      double('value', 'Value of the feedback, such as a rating; null if there is none.'),
      text('document_id', 'Document to which the feedback refers; null if it refers to the whole answer.'),
      integer('rank', 'Rank of the document to which the feedback refers.'),
      userHash,
      userText('comment', "The user's comment, redacted as configured; null in hash mode."),
      boolean(
        'counted',
        "False if the feedback exceeds the user's limit; such feedback is stored but not counted in feedback rates.",
      ),
      traceId,
    ],
  },
  {
    name: 'traffic',
    does: 'Live queries received per minute, whether sampled or not; for data older than 32 days, per hour.',
    ...byTime('live_query_counts', 'minute'),
    columns: [
      pipeline,
      timestamp('minute', 'Start of the minute or hour of receipt.'),
      text('outcome', '`ok`, `empty`, `error` or `timeout`.'),
      bigint('queries', 'Number of queries.'),
    ],
  },
  {
    name: 'violations',
    does: 'Live queries whose results violate an isolation rule.',
    ...ofLive('isolation_violations'),
    columns: [
      pipeline,
      text('rule', 'Name of the isolation rule.'),
      queryId,
      receivedAt,
      occurredAt,
      text('segment', 'Segment of the query, such as its tenant.'),
      json('documents', 'Best-ranked documents that the rule does not allow, as [id, rank] pairs.'),
      integer('document_count', 'Number of documents in the results that the rule does not allow.'),
      traceId,
      userHash,
    ],
  },
  {
    name: 'judgments',
    does: 'Grades that models and people gave to the documents returned for sampled live queries.',
    ...byTime('judgments', 'judged_at'),
    joins: 'join judged_queries q on q.pipeline = r.pipeline and q.query_id = r.query_id',
    columns: [
      pipeline,
      queryId,
      timestamp('received_at', 'When recalld received the query.', 'q.received_at'),
      double(
        'probability',
        'Probability with which the query was both stored and selected for judging.',
        'q.probability',
      ),
      text('document_id', 'Id of the document.'),
      text('judge', '`model`, `person`, or `second` for an independent second person.'),
      integer('grade', 'Grade from 0 to 3; null if the judge returned none.'),
      boolean(
        'is_flagged',
        'True if the text of the query or the document addresses the judge (possible prompt injection).',
      ),
      timestamp('judged_at', 'When the document was graded.'),
      text('graded_by', 'Name of the person who gave the grade; null if a model gave it.'),
      text('model', 'Fingerprint of the judge model; null if a person gave the grade.', 'r.fingerprint'),
    ],
  },
  {
    name: 'measures',
    does: 'History of all measured values, such as nDCG, hit rate, density and feedback.',
    ...byTime('measurements', 'window_end', 'r.measured_at'),
    columns: [
      pipeline,
      text('measure', 'Key of the measure.'),
      text('segment', '`all`, or one segment.'),
      timestamp('window_start', 'Start of the measured window.'),
      timestamp('window_end', 'End of the measured window.'),
      timestamp('measured_at', 'When the value was measured.'),
      double('value', 'Measured value.'),
      ciLow(),
      ciHigh(),
      text('ci_method', 'Method of the confidence interval; null if there is no interval.'),
      integer('n', 'Number of observations.'),
    ],
  },
  {
    name: 'golden_runs',
    does: 'Golden runs: when a golden set was run, and how the run ended.',
    ...ofRun,
    columns: [
      runId,
      pipeline,
      goldenSet,
      integer('golden_set_version', 'Version of the golden set.'),
      text('purpose', '`full`, or `sentinel` for a few queries between full runs.'),
      text('trigger', '`schedule`, `manual` or `sentinel`.'),
      timestamp('scheduled_for', 'Planned start; null if the run was not scheduled.'),
      text('status', '`running`, `completed`, `void`, `failed` or `cancelled`.'),
      timestamp('started_at', 'Start of the run.'),
      timestamp('finished_at', 'End of the run; null while the run is in progress.'),
      integer('labels_probed', 'Number of judged documents that were looked up in the store.'),
      integer(
        'labels_stale',
        'Number of judged documents with stale labels: documents whose text has another id in the store, or that the manifest lists as deleted.',
      ),
      integer(
        'labels_deleted',
        'Number of missing judged documents that the manifest lists as deleted; `labels_stale` includes them.',
      ),
      integer(
        'labels_lost',
        'Number of judged documents that are missing, have no replacement and are not deleted in the manifest.',
      ),
    ],
  },
  {
    name: 'golden_scores',
    does: 'Scores of golden runs, by segment, measure and cutoff.',
    ...ofRun,
    joins: 'join golden_run_scores s on s.run_id = r.id',
    columns: [
      runId,
      pipeline,
      goldenSet,
      timestamp('started_at', 'Start of the run.'),
      text('segment', '`all`, or one segment.', 's.segment'),
      text('measure', 'Measure, such as `ndcg`.', 's.measure'),
      integer('k', 'Cutoff; 0 for a measure without a cutoff.', 's.k'),
      double('mean', 'Mean over the queries.', 's.mean'),
      integer('n', 'Number of queries.', 's.n'),
      ciLow('s.ci_low'),
      ciHigh('s.ci_high'),
      text('ci_method', 'Method of the confidence interval.', 's.ci_method'),
    ],
  },
  {
    name: 'golden_answers',
    does: 'Outcome of each query in a golden run. Outcomes are kept for as long as `golden[].keep_answers` specifies.',
    ...ofRun,
    joins: 'join golden_run_answers a on a.run_id = r.id',
    columns: [
      runId,
      pipeline,
      goldenSet,
      text('query_id', 'Id of the golden query.', 'a.query_id'),
      text('outcome', '`ok`, `empty`, `error` or `timeout`.', 'a.outcome'),
      integer('documents', 'Number of returned documents.', 'cardinality(a.document_ids)'),
      double('latency_ms', 'Latency in milliseconds; null if the retriever did not respond.', 'a.latency_ms'),
      integer('attempts', 'Number of requests to the retriever, including retries.', 'a.attempts'),
      text('error_code', 'Code of the failure; null if the query did not fail.', 'a.error_code'),
      timestamp('answered_at', 'When the retriever responded.', 'a.answered_at'),
    ],
  },
  {
    name: 'golden_results',
    does: 'Documents that golden queries returned: one row per run, query and rank.',
    ...ofRun,
    joins: `join golden_run_answers a on a.run_id = r.id
      cross join lateral unnest(a.document_ids, a.scores, a.document_steps)
        with ordinality as d (document_id, score, step, rank)`,
    columns: [
      runId,
      pipeline,
      goldenSet,
      text('query_id', 'Id of the golden query.', 'a.query_id'),
      integer('rank', 'Rank of the document, starting at 1.', 'd.rank::integer'),
      text('document_id', 'Id of the document.', 'd.document_id'),
      double('score', 'Score of the document; null if there is none.', 'd.score'),
      integer(
        'step',
        'Number of the step that returned the document, starting at 1; null for a query without steps.',
        'd.step::integer',
      ),
    ],
  },
  {
    name: 'checks',
    does: 'Changes in check verdicts, with their reasons.',
    ...byTime('check_transitions', 'occurred_at'),
    columns: [
      bigint('change_id', 'Sequence number of the change.', 'r.id'),
      pipeline,
      text('check_name', 'Name of the check.'),
      text('severity', '`critical` or `warning`.'),
      text('from_verdict', 'Previous verdict; null for the first verdict of a check.'),
      text('to_verdict', 'New verdict: `ok`, `warning`, `critical` or `no_data`.'),
      timestamp('occurred_at', 'When the verdict changed.'),
      double('threshold', 'Threshold of the check.'),
      double('value', 'Measured value; null if there was no data.'),
      text('segment', 'Segment with the worst value; null if all traffic is evaluated together.'),
      text('explanation', 'Reason for the verdict.'),
    ],
  },
  {
    name: 'incidents',
    does: 'Incidents, with their latest diagnosis, and whether a person marked the diagnosed cause as right.',
    source: 'incidents r left join cause_marks m on m.incident_id = r.id',
    joins: `left join lateral (
        select * from diagnoses d where d.incident_id = r.id order by d.id desc limit 1) d on true`,
    day: dayOf('opened_at'),
    isByDay: false,
    changed: 'greatest(r.evaluated_at, r.closed_at, r.confirmed_at, r.acknowledged_at, m.marked_at)',
    columns: [
      bigint('incident_id', 'Sequence number of the incident.', 'r.id'),
      pipeline,
      timestamp('opened_at', 'When the first alert fired.'),
      timestamp('closed_at', 'When the last alert was resolved; null while an alert fires.'),
      text('closed_because', '`resolved`, or `left_config` if the alerts were removed from the config.'),
      text('severity', 'Worst severity: `critical` or `warning`.'),
      timestamp('acknowledged_at', 'When a person acknowledged the incident; null until then.'),
      text('acknowledged_by', 'Name of the person who acknowledged the incident.'),
      json('alerts', 'Names of the alerts that were firing at the time of the latest diagnosis.', 'to_jsonb(d.alerts)'),
      text('cause', 'Most likely cause according to the latest diagnosis.', 'd.cause'),
      text('confidence', '`high`, `medium` or `low`.', 'd.confidence'),
      double('probability', 'Posterior probability of the cause.', 'd.probability'),
      text('summary', 'The diagnosis in one or two sentences.', 'd.summary'),
      boolean(
        'is_right',
        'True if a person marked the cause as right, false if a person marked it as wrong; null if it is unmarked.',
        'm.is_right',
      ),
      text(
        'actual_cause',
        'The actual cause, entered by the person who marked the diagnosis as wrong.',
        'm.actual_cause',
      ),
    ],
  },
  {
    name: 'deployments',
    does: 'Changes to pipelines, recorded by users or detected by recalld.',
    ...byTime('deployments', 'occurred_at', 'r.recorded_at'),
    columns: [
      bigint('deployment_id', 'Sequence number of the deployment.', 'r.id'),
      pipeline,
      text('kind', '`index`, `embedder`, `retriever`, `golden` or `judge`.'),
      text('version', 'The new version.'),
      text('note', 'Reason for the change; null if none was given.'),
      text('source', '`annotated` or `detected`.'),
      timestamp('occurred_at', 'When the change took effect.'),
      timestamp('recorded_at', 'When the change was recorded.'),
      json('changes', 'Details of the change, as an object or list.'),
    ],
  },
];
