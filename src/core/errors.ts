/**
 * Every error that a user or an operator can meet, in one table. The HTTP status and the exit code follow from the
 * kind and are mapped at the edge (http/wire.ts, cli/exit.ts), never here.
 *
 * Three things are told apart everywhere: an expected outcome is a value of a union, an operational failure is a
 * RecalldError, and anything else that is thrown is a bug.
 */
export type ErrorKind =
  /** The caller's words, file or config are wrong; the same call can never succeed. */
  | 'input'
  /** The named thing does not exist. */
  | 'not_found'
  /** The state of the system forbids it now. */
  | 'conflict'
  /** The caller did not say who it is. */
  | 'unauthorized'
  /** The caller may not do this. */
  | 'forbidden'
  /** More than is accepted at a time. */
  | 'too_large'
  /** More often than is accepted. */
  | 'too_many'
  /** A service that recalld needs did not answer; the same call may succeed later. */
  | 'unreachable'
  /** The person who started it stopped it. */
  | 'interrupted';

interface ErrorEntry {
  readonly kind: ErrorKind;
  /** What the code means, for docs/reference/errors.md. */
  readonly meaning: string;
}

export const errorTable = {
  retriever_not_understood: {
    kind: 'input',
    meaning: 'No usual request brings a list of results from the retriever; describe it by hand.',
  },
  usage: { kind: 'input', meaning: 'The command line cannot be understood.' },
  config_not_found: { kind: 'input', meaning: 'The config file does not exist or cannot be read.' },
  config_invalid: {
    kind: 'input',
    meaning: 'The config has an unknown key, a wrong type or a missing value.',
  },
  metric_unknown: { kind: 'input', meaning: 'A metric key is not one that recalld knows.' },
  file_unreadable: { kind: 'input', meaning: 'An input file does not exist or cannot be read.' },
  package_missing: {
    kind: 'unreachable',
    meaning: 'A package that the installation left out is needed.',
  },
  file_unwritable: { kind: 'input', meaning: 'An output file cannot be written.' },
  manifest_unreadable: { kind: 'unreachable', meaning: 'The manifest of what the index should hold cannot be read.' },
  file_malformed: { kind: 'input', meaning: 'A line of an input file does not have the form of its format.' },
  nothing_matches: { kind: 'input', meaning: 'A run and its judgments have no query or no document in common.' },
  golden_set_empty: { kind: 'input', meaning: 'A golden set has no queries or no judgments.' },
  export_impossible: {
    kind: 'input',
    meaning: 'A golden set has something that the file format cannot hold.',
  },
  golden_origin_differs: {
    kind: 'conflict',
    meaning: 'Questions of people and questions of a model are kept in sets of their own.',
  },
  golden_set_changed: {
    kind: 'conflict',
    meaning: 'A golden set got a new version while another one was worked on.',
  },
  golden_set_unknown: { kind: 'not_found', meaning: 'No golden set of that name has been imported.' },
  text_not_stored: {
    kind: 'conflict',
    meaning: 'A pipeline has no texts of live queries, and the work needs them.',
  },
  generation_impossible: {
    kind: 'conflict',
    meaning: 'Questions cannot be generated from the store of a pipeline.',
  },
  store_unreachable: { kind: 'unreachable', meaning: 'The vector store does not answer.' },
  llm_unreachable: {
    kind: 'unreachable',
    meaning: 'The chat model, or the retriever beside it, fails again and again.',
  },
  runbook_unknown: { kind: 'not_found', meaning: 'No alert has a runbook of that name.' },
  pipeline_unknown: { kind: 'not_found', meaning: 'The config has no pipeline of that name.' },
  shadow_unknown: { kind: 'not_found', meaning: 'The pipeline has no shadow of that name.' },
  variants_unknown: { kind: 'not_found', meaning: 'The pipeline compares no variants.' },
  topic_unknown: { kind: 'not_found', meaning: 'No uncovered topic has that id.' },
  run_not_completed: {
    kind: 'conflict',
    meaning: 'The golden run has no scores, since it did not complete.',
  },
  answers_deleted: {
    kind: 'conflict',
    meaning: 'The answers of an old golden run were deleted (`golden[].keep_answers`); its scores are kept.',
  },
  run_not_running: { kind: 'conflict', meaning: 'The golden run has ended, so it cannot be cancelled.' },
  runs_not_comparable: {
    kind: 'conflict',
    meaning: 'Two golden runs share nothing that they could be compared by.',
  },
  baseline_has_failures: {
    kind: 'conflict',
    meaning: 'Queries of the golden run failed, so that it makes no sound baseline.',
  },
  baseline_unknown: { kind: 'not_found', meaning: 'No baseline is pinned for that golden set.' },
  judgment_unknown: {
    kind: 'not_found',
    meaning: 'No such live query was drawn to be judged, or it has no such document.',
  },
  incident_unknown: { kind: 'not_found', meaning: 'No incident has that id.' },
  run_unknown: { kind: 'not_found', meaning: 'No golden run has that id.' },
  data_dir_unusable: {
    kind: 'input',
    meaning: 'The data folder cannot be created, read or used by PostgreSQL.',
  },
  data_dir_in_use: { kind: 'conflict', meaning: 'Another recalld process owns the data folder.' },
  body_unreadable: { kind: 'input', meaning: 'The body of a request is not what the contract says.' },
  body_too_large: { kind: 'too_large', meaning: 'The body of a request is larger than is accepted.' },
  otlp_malformed: { kind: 'input', meaning: 'An OpenTelemetry request cannot be decoded.' },
  host_refused: {
    kind: 'forbidden',
    meaning: 'A daemon without API keys was called under a name of another machine or by a page of another site.',
  },
  key_missing: { kind: 'unauthorized', meaning: 'The call needs an API key.' },
  key_invalid: { kind: 'unauthorized', meaning: 'The API key is unknown or revoked.' },
  attempts_limited: {
    kind: 'too_many',
    meaning: 'Too many wrong keys or sessions, or calls without a key, came from one address within a minute.',
  },
  rate_limited: {
    kind: 'too_many',
    meaning: 'One key, or one address where none is needed, sends more than `server.max_requests_per_minute`.',
  },
  explanations_limited: {
    kind: 'too_many',
    meaning: 'One key asks for more explanations within a minute than the retriever is asked for by readers.',
  },
  retriever_busy: {
    kind: 'too_many',
    meaning: 'Golden runs and explanations have taken all calls that a retriever may be sent.',
  },
  key_unknown: { kind: 'not_found', meaning: 'No API key has that id.' },
  key_lacks_scope: { kind: 'forbidden', meaning: 'The API key may not do this.' },
  origin_refused: { kind: 'forbidden', meaning: 'A page or a form was asked for from another site.' },
  form_expired: { kind: 'forbidden', meaning: 'A form is older than the session that sends it.' },
  query_unknown: { kind: 'not_found', meaning: 'The golden set has no such query, or the run was not asked it.' },
  deployment_unknown: { kind: 'not_found', meaning: 'No deployment has that id.' },
  port_in_use: { kind: 'conflict', meaning: 'The address to listen on is taken by another process.' },
  database_denied: {
    kind: 'conflict',
    meaning: 'The role of storage.url lacks a right in the database, such as to make partitions.',
  },
  schema_too_new: {
    kind: 'conflict',
    meaning: 'The database was migrated by a newer recalld, in a way that this one cannot work with.',
  },
  schema_too_old: { kind: 'conflict', meaning: 'The database waits for `recalld migrate`.' },
  migration_changed: {
    kind: 'conflict',
    meaning: 'An applied migration file no longer has the content it had.',
  },
  database_unreachable: { kind: 'unreachable', meaning: 'PostgreSQL does not answer.' },
  database_full: { kind: 'unreachable', meaning: 'The disk of PostgreSQL is full.' },
  database_busy: {
    kind: 'unreachable',
    meaning: 'A statement or a migration did not get its locks, or took too long; nothing was changed.',
  },
  database_read_only: { kind: 'unreachable', meaning: 'PostgreSQL answers and only reads, as a standby does.' },
  pooler_unsuitable: {
    kind: 'conflict',
    meaning: 'The database is reached through a pooler that shares sessions between its clients.',
  },
  search_path_wrong: {
    kind: 'conflict',
    meaning: 'The search_path of the role leads to no schema, or to another one than that of the tables.',
  },
  embedded_database_failed: { kind: 'unreachable', meaning: 'The embedded PostgreSQL did not start.' },
  queue_unreachable: { kind: 'unreachable', meaning: 'The job queue does not answer.' },
  queue_taken: { kind: 'conflict', meaning: 'The job queue belongs to a deployment with another database.' },
  retriever_unreachable: { kind: 'unreachable', meaning: 'The retriever cannot be reached.' },
  overloaded: { kind: 'unreachable', meaning: 'More comes in than can be stored; send it again later.' },
  stopping: { kind: 'unreachable', meaning: 'The process is stopping and takes nothing new in.' },
  stop_overdue: {
    kind: 'unreachable',
    meaning: 'The daemon did not end in order within `server.shutdown_seconds`, so it ended all the same.',
  },
  demo_failed: { kind: 'unreachable', meaning: 'A part of the demo failed.' },
  interrupted: { kind: 'interrupted', meaning: 'The work was stopped before its end.' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

/**
 * An operational failure with a message for people: what failed, with which input, and the way out.
 * It is shown as it stands, so it must never carry a secret or the text of a live query.
 */
export class RecalldError extends Error {
  override readonly name = 'RecalldError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  get kind(): ErrorKind {
    return errorTable[this.code].kind;
  }

  /** Whether the same call may succeed later without a change by its caller. */
  get retryable(): boolean {
    return this.kind === 'unreachable';
  }
}

/** Why an item that a service sent is not accepted. Codes are part of the HTTP contract; messages never quote the text. */
export const rejectionTable = {
  invalid_field: 'A field is missing, has the wrong type or is out of range.',
  unknown_field: 'A field is not part of the contract.',
  unknown_pipeline: 'The config has no pipeline of that name.',
  text_too_long: 'A text is longer than its limit.',
  control_characters: 'A text or an id holds control characters or broken Unicode.',
  embedding_malformed: 'The embedding is neither a list of numbers nor base64 of float32 values.',
  embedding_not_finite: 'The embedding holds NaN or an infinity.',
  embedding_zero: 'The embedding is the zero vector, which has no direction.',
  embedding_wrong_dimension: 'The embedding has another length than the vectors of its pipeline.',
  occurred_in_future: 'occurred_at is in the future; the clock of the service is wrong.',
  occurred_too_long_ago: 'occurred_at is before the retention of the pipeline.',
  span_without_id: 'A span has no valid trace id and span id, which are 32 and 16 hexadecimal digits in JSON.',
  span_malformed: 'A span, a log record or a list of them is not what OTLP says.',
  resource_malformed: 'The resource of spans or log records cannot be read; they were read without it.',
  attribute_malformed:
    'An attribute, event, link or status of a span, or a part of one, cannot be read; the span was read without it.',
  attribute_too_deep: 'An attribute of a span nests too deep; what is deeper than 16 levels was left out.',
  retriever_unreadable: 'The span of a retriever does not say what was retrieved, or not in a form that is known.',
} as const;

export type RejectionCode = keyof typeof rejectionTable;

export interface Rejection {
  readonly code: RejectionCode;
  /** One sentence that names the field and the way out. */
  readonly message: string;
}

/**
 * What an error says, for a log or within a sentence. One that stands for several and says nothing itself, as when a
 * host has two addresses and neither answers, says what each of them says, once.
 */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set(error.errors.map(messageOf))].join('; ');
  }
  return error.name;
}
