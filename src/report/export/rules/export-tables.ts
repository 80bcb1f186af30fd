/**
 * The exported tables with the names, types and descriptions of their columns. The SQL statements, the files and docs/reference/export.md are derived from this list. A change to a name or a type needs a new `SCHEMA_VERSION`.
 */

/** Schema version of all tables and columns, which every manifest contains. */
export const SCHEMA_VERSION = 1;

export type CellType = 'text' | 'json' | 'integer' | 'bigint' | 'double' | 'boolean' | 'timestamp';

export interface ExportColumn {
  readonly name: string;
  readonly type: CellType;
  /** Description of the column for the documentation. */
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

const column = (name: string, type: CellType, does: string, sql = `r.${name}`): ExportColumn => ({
  name,
  type,
  does,
  sql,
  isPrivate: false,
});
const userText = (name: string, does: string): ExportColumn => ({ ...column(name, 'text', does), isPrivate: true });

/** Returns SQL for the day (UTC) of a time. */
const dayOf = (time: string): string => `(r.${time} at time zone 'utc')::date`;

const pipeline = column('pipeline', 'text', 'Name of the pipeline.');
const queryId = column('query_id', 'text', 'Id of the query, as in `queries`.');
const receivedAt = column('received_at', 'timestamp', 'When recalld received the data.');
const occurredAt = column('occurred_at', 'timestamp', 'When the query or feedback occurred in the service.');
const userHash = column('user_hash', 'text', 'Keyed hash of the user id; null if there is no user id.');
const traceId = column('trace_id', 'text', 'Trace id of the query; null if there is none.');
const ciLow = (sql?: string) => column('ci_low', 'double', 'Lower bound of the 95 % CI.', sql);
const ciHigh = (sql?: string) => column('ci_high', 'double', 'Upper bound of the 95 % CI.', sql);

const ofLive = { day: 'r.received_on', isByDay: true, changed: 'r.received_at' };
const ofRun = {
  source: 'golden_runs r',
  day: dayOf('started_at'),
  isByDay: false,
  changed: 'greatest(r.started_at, r.finished_at, r.answers_deleted_at)',
};
const runId = column('run_id', 'text', 'Id of the golden run, as in `golden_runs`.', 'r.id');
const goldenSet = column('golden_set', 'text', 'Name of the golden set.');

export const exportTables: readonly ExportTable[] = [
  {
    name: 'queries',
    does: 'Sampled live queries. To estimate values for all traffic, weight each query by 1 / `probability`.',
    source: 'live_queries r',
    joins: '',
    ...ofLive,
    columns: [
      pipeline,
      column('query_id', 'text', 'Id of the query, unique within a pipeline and day.', 'r.id'),
      receivedAt,
      occurredAt,
      column('session_hash', 'text', 'Keyed hash of the first available id: session, episode, trace or query.'),
      userHash,
      traceId,
      column('episode', 'text', 'Id of the agent turn that made the query; null if there is none.'),
      column('episode_step', 'integer', 'Position in the agent turn; null if none was reported.'),
      userText('original_text', 'Original user query, before the agent rewrote it, redacted as configured.'),
      userText('text', 'Text of the query, redacted as configured; null in hash mode or if none was sent.'),
      column('text_hash', 'text', 'Keyed hash of the text; null if the text is stored.'),
      column('top_k', 'integer', 'Requested number of documents; null if unknown.'),
      column('outcome', 'text', '`ok`, `empty`, `error` or `timeout`.'),
      userText('error', 'Error message, redacted as configured.'),
      column('documents', 'integer', 'Number of returned documents.', 'jsonb_array_length(r.results)'),
      column('latency_ms', 'double', 'Latency of the retriever in milliseconds.'),
      column('segments', 'json', 'Segments of the query, such as its tenant, as an object.'),
      column('index_version', 'text', 'Version of the index that the service reported.'),
      column('embedder_version', 'text', 'Version of the embedder that the service reported.'),
      column('retriever_version', 'text', 'Version of the retriever that the service reported.'),
      column('probability', 'double', 'Probability with which the query was sampled, above 0 and at most 1.'),
      column('keep_reason', 'text', 'Why the query was stored: random sampling, or a rule in `sampling.always_keep`.'),
      column(
        'context_characters',
        'integer',
        'Number of characters in the texts of all results; null if the results have no texts.',
      ),
      column('context_repeated', 'double', 'Share of five-word text sequences that an earlier result contains.'),
    ],
  },
  {
    name: 'results',
    does: 'Documents that sampled live queries returned: one row per query and rank.',
    source: 'live_queries r',
    joins: 'cross join lateral jsonb_array_elements(r.results) with ordinality as d (entry, rank)',
    ...ofLive,
    columns: [
      pipeline,
      column('query_id', 'text', 'Id of the query, as in `queries`.', 'r.id'),
      receivedAt,
      column('rank', 'integer', 'Rank of the document, from 1.', 'd.rank::integer'),
      column('document_id', 'text', 'Id of the document.', 'd.entry ->> 0'),
      column('score', 'double', 'Score of the document; null if there is none.', '(d.entry ->> 1)::double precision'),
      column('fields', 'json', 'Fields that isolation rules read, as an object.', "nullif(d.entry -> 2, 'null')"),
    ],
  },
  {
    name: 'feedback',
    does: 'User feedback on answers and documents: ratings, comments and actions.',
    source: 'feedback r',
    joins: '',
    ...ofLive,
    columns: [
      pipeline,
      column('feedback_id', 'text', 'Id of the feedback, unique within a pipeline and day.', 'r.id'),
      queryId,
      receivedAt,
      occurredAt,
      column('kind', 'text', 'Kind of feedback, such as `thumb` or `click`.'),
      column('sentiment', 'text', '`positive`, `negative` or `neutral`.'),
      column('value', 'double', 'Value of the feedback, such as a rating; null if there is none.'),
      column('document_id', 'text', 'Document to which the feedback refers; null if it refers to the whole answer.'),
      column('rank', 'integer', 'Rank of the document to which the feedback refers.'),
      userHash,
      userText('comment', 'Comment of the user, redacted as configured; null in hash mode.'),
      column(
        'counted',
        'boolean',
        "False if the feedback exceeds the user's limit; such feedback is stored but not counted in feedback rates.",
      ),
      traceId,
    ],
  },
  {
    name: 'traffic',
    does: 'Number of all live queries, sampled or not, per minute; data older than 32 days is per hour.',
    source: 'live_query_counts r',
    joins: '',
    day: dayOf('minute'),
    isByDay: false,
    changed: 'r.minute',
    columns: [
      pipeline,
      column('minute', 'timestamp', 'Start of the minute or hour of receipt.'),
      column('outcome', 'text', '`ok`, `empty`, `error` or `timeout`.'),
      column('queries', 'bigint', 'Number of queries.'),
    ],
  },
  {
    name: 'violations',
    does: 'Live queries whose results contain documents that an isolation rule does not allow.',
    source: 'isolation_violations r',
    joins: '',
    ...ofLive,
    columns: [
      pipeline,
      column('rule', 'text', 'Name of the isolation rule.'),
      queryId,
      receivedAt,
      occurredAt,
      column('segment', 'text', 'Segment of the query, such as its tenant.'),
      column('documents', 'json', 'Best-ranked forbidden documents, as [id, rank] pairs.'),
      column('document_count', 'integer', 'Number of forbidden documents in the results.'),
      traceId,
      userHash,
    ],
  },
  {
    name: 'judgments',
    does: 'Grades that a model and people gave to documents returned for sampled live queries.',
    source: 'judgments r',
    joins: 'join judged_queries q on q.pipeline = r.pipeline and q.query_id = r.query_id',
    day: dayOf('judged_at'),
    isByDay: false,
    changed: 'r.judged_at',
    columns: [
      pipeline,
      queryId,
      column('received_at', 'timestamp', 'When recalld received the query.', 'q.received_at'),
      column(
        'probability',
        'double',
        'Probability with which the query was both stored and selected for judging.',
        'q.probability',
      ),
      column('document_id', 'text', 'Id of the document.'),
      column('judge', 'text', '`model`, `person`, or `second` for an independent second person.'),
      column('grade', 'integer', 'Grade from 0 to 3; null if the judge returned none.'),
      column('is_flagged', 'boolean', 'True if a text addresses the judge (possible prompt injection).'),
      column('judged_at', 'timestamp', 'When the document was graded.'),
      column('graded_by', 'text', 'Name of the person; null for grades of a model.'),
      column('model', 'text', 'Fingerprint of the judge model; null for grades of a person.', 'r.fingerprint'),
    ],
  },
  {
    name: 'measures',
    does: 'History of all measured values, such as nDCG, hit rate, density and feedback.',
    source: 'measurements r',
    joins: '',
    day: dayOf('window_end'),
    isByDay: false,
    changed: 'r.measured_at',
    columns: [
      pipeline,
      column('measure', 'text', 'Key of the measure.'),
      column('segment', 'text', '`all`, or one segment.'),
      column('window_start', 'timestamp', 'Start of the measured window.'),
      column('window_end', 'timestamp', 'End of the measured window.'),
      column('measured_at', 'timestamp', 'When the value was measured.'),
      column('value', 'double', 'Measured value.'),
      ciLow(),
      ciHigh(),
      column('ci_method', 'text', 'Method of the confidence interval; null if there is no interval.'),
      column('n', 'integer', 'Number of observations.'),
    ],
  },
  {
    name: 'golden_runs',
    does: 'Golden runs: when a golden set was run, and how the run ended.',
    ...ofRun,
    joins: '',
    columns: [
      runId,
      pipeline,
      goldenSet,
      column('golden_set_version', 'integer', 'Version of the golden set.'),
      column('purpose', 'text', '`full`, or `sentinel` for a few queries between full runs.'),
      column('trigger', 'text', '`schedule`, `manual` or `sentinel`.'),
      column('scheduled_for', 'timestamp', 'Planned start; null if the run was not scheduled.'),
      column('status', 'text', '`running`, `completed`, `void`, `failed` or `cancelled`.'),
      column('started_at', 'timestamp', 'Start of the run.'),
      column('finished_at', 'timestamp', 'End of the run; null while it runs.'),
      column('labels_probed', 'integer', 'Number of judged documents that were looked up in the store.'),
      column('labels_stale', 'integer', 'Number of judged documents that are superseded.'),
      column('labels_lost', 'integer', 'Number of judged documents that are missing without a replacement.'),
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
      column('started_at', 'timestamp', 'Start of the run.'),
      column('segment', 'text', '`all`, or one segment.', 's.segment'),
      column('measure', 'text', 'Measure, such as `ndcg`.', 's.measure'),
      column('k', 'integer', 'Cutoff; 0 for a measure without a cutoff.', 's.k'),
      column('mean', 'double', 'Mean over the queries.', 's.mean'),
      column('n', 'integer', 'Number of queries.', 's.n'),
      ciLow('s.ci_low'),
      ciHigh('s.ci_high'),
      column('ci_method', 'text', 'Method of the confidence interval.', 's.ci_method'),
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
      column('query_id', 'text', 'Id of the golden query.', 'a.query_id'),
      column('outcome', 'text', '`ok`, `empty`, `error` or `timeout`.', 'a.outcome'),
      column('documents', 'integer', 'Number of returned documents.', 'cardinality(a.document_ids)'),
      column('latency_ms', 'double', 'Latency in milliseconds; null if the retriever did not respond.', 'a.latency_ms'),
      column('attempts', 'integer', 'Number of requests.', 'a.attempts'),
      column('error_code', 'text', 'Code of the failure; null if the query did not fail.', 'a.error_code'),
      column('answered_at', 'timestamp', 'When the retriever responded.', 'a.answered_at'),
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
      column('query_id', 'text', 'Id of the golden query.', 'a.query_id'),
      column('rank', 'integer', 'Rank of the document, from 1.', 'd.rank::integer'),
      column('document_id', 'text', 'Id of the document.', 'd.document_id'),
      column('score', 'double', 'Score of the document; null if there is none.', 'd.score'),
      column(
        'step',
        'integer',
        'Step of the query that returned the document, from 1; null for a query without steps.',
        'd.step::integer',
      ),
    ],
  },
  {
    name: 'checks',
    does: 'Changes in check verdicts, with their reasons.',
    source: 'check_transitions r',
    joins: '',
    day: dayOf('occurred_at'),
    isByDay: false,
    changed: 'r.occurred_at',
    columns: [
      column('change_id', 'bigint', 'Sequence number of the change.', 'r.id'),
      pipeline,
      column('check_name', 'text', 'Name of the check.'),
      column('severity', 'text', '`critical` or `warning`.'),
      column('from_verdict', 'text', 'Previous verdict; null for the first verdict of a check.'),
      column('to_verdict', 'text', 'New verdict: `ok`, `warning`, `critical` or `no_data`.'),
      column('occurred_at', 'timestamp', 'When the verdict changed.'),
      column('threshold', 'double', 'Threshold of the check.'),
      column('value', 'double', 'Measured value; null if there was no data.'),
      column('segment', 'text', 'Segment with the worst value; null if all traffic is evaluated together.'),
      column('explanation', 'text', 'Reason for the verdict.'),
    ],
  },
  {
    name: 'incidents',
    does: 'Incidents, with their latest diagnosis and the verdict of a person on the diagnosed cause.',
    source: 'incidents r left join cause_marks m on m.incident_id = r.id',
    joins: `left join lateral (
        select * from diagnoses d where d.incident_id = r.id order by d.id desc limit 1) d on true`,
    day: dayOf('opened_at'),
    isByDay: false,
    changed: 'greatest(r.evaluated_at, r.closed_at, r.confirmed_at, r.acknowledged_at, m.marked_at)',
    columns: [
      column('incident_id', 'bigint', 'Sequence number of the incident.', 'r.id'),
      pipeline,
      column('opened_at', 'timestamp', 'When the first alert fired.'),
      column('closed_at', 'timestamp', 'When the last alert was resolved; null while an alert fires.'),
      column('closed_because', 'text', '`resolved`, or `left_config` if the alerts were removed from the config.'),
      column('severity', 'text', 'Worst severity: `critical` or `warning`.'),
      column('acknowledged_at', 'timestamp', 'When a person acknowledged the incident; null until then.'),
      column('acknowledged_by', 'text', 'Name of the person who acknowledged the incident.'),
      column('alerts', 'json', 'Names of the firing alerts at the latest diagnosis.', 'to_jsonb(d.alerts)'),
      column('cause', 'text', 'Most likely cause at the latest diagnosis.', 'd.cause'),
      column('confidence', 'text', '`high`, `medium` or `low`.', 'd.confidence'),
      column('probability', 'double', 'Posterior probability of the cause.', 'd.probability'),
      column('summary', 'text', 'The diagnosis in one or two sentences.', 'd.summary'),
      column(
        'is_right',
        'boolean',
        'True if a person marked the cause as right, false if a person marked it as wrong; otherwise null.',
        'm.is_right',
      ),
      column(
        'actual_cause',
        'text',
        'The actual cause, entered by the person who marked the diagnosis as wrong.',
        'm.actual_cause',
      ),
    ],
  },
  {
    name: 'deployments',
    does: 'Changes to pipelines that were annotated by users or detected by recalld.',
    source: 'deployments r',
    joins: '',
    day: dayOf('occurred_at'),
    isByDay: false,
    changed: 'r.recorded_at',
    columns: [
      column('deployment_id', 'bigint', 'Sequence number of the deployment.', 'r.id'),
      pipeline,
      column('kind', 'text', '`index`, `embedder`, `retriever`, `golden` or `judge`.'),
      column('version', 'text', 'The new version.'),
      column('note', 'text', 'Reason for the change; null if none was given.'),
      column('source', 'text', '`annotated` or `detected`.'),
      column('occurred_at', 'timestamp', 'When the change took effect.'),
      column('recorded_at', 'timestamp', 'When the change was recorded.'),
      column('changes', 'json', 'Details of the change, as an object or list.'),
    ],
  },
];
