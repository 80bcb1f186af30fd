/** What a call to PostgreSQL failed of, in a sentence with the way out. */
import { classifyConnectionFailure } from '../../outbound/connection-failure.ts';

export interface Failure {
  readonly code: string;
  /** To be read behind `pgvector search failed: `. */
  readonly problem: string;
}

/** Thrown inside of a call, and turned into its outcome. */
export class CallFailure extends Error implements Failure {
  readonly code: string;
  readonly problem: string;

  constructor(code: string, problem: string) {
    super(problem);
    this.code = code;
    this.problem = problem;
  }
}

/** No answer came within the limit. */
export class TimeOver extends Error {}

/** Where the store is, as messages may name it. */
export interface Place {
  /** Host and port, without user and password. */
  readonly address: string;
  readonly table: string;
  readonly user: string;
  readonly configField: string;
  readonly timeoutMs: number;
}

type Sentence = (place: Place) => Failure;

const timeout: Sentence = ({ address, timeoutMs, configField }) => ({
  code: 'timeout',
  problem: `${address} did not answer within ${timeoutMs} ms; raise ${configField}.timeout_ms or look at its load.`,
});

const authentication: Sentence = ({ address, user, configField }) => ({
  code: 'authentication_failed',
  problem: `${address} does not let the user ${user} in; check ${configField}.url and pg_hba.conf.`,
});

const missing: Sentence = ({ table, configField }) => ({
  code: 'not_found',
  problem: `a table, column or operator it names does not exist; check ${configField} and the table ${table}.`,
});

/** By SQLSTATE, as in appendix A of the manual of PostgreSQL. */
const sentences = new Map<string, Sentence>([
  ['57014', timeout],
  ['55P03', timeout],
  ['28000', authentication],
  ['28P01', authentication],
  ['42P01', missing],
  ['42703', missing],
  ['42883', missing],
  [
    '22000',
    ({ configField }) => ({
      code: 'dimension_mismatch',
      problem: `the query vector and the vectors of ${configField}.embedding differ in length; check that pipeline and store use the same embedding model.`,
    }),
  ],
  [
    '3D000',
    ({ address, configField }) => ({
      code: 'database_missing',
      problem: `${address} has no such database; check ${configField}.url.`,
    }),
  ],
  [
    '42501',
    ({ table, user }) => ({
      code: 'permission_denied',
      problem: `the user ${user} may not read it; run GRANT SELECT ON ${table} TO that user, and GRANT USAGE on its schema.`,
    }),
  ],
  [
    '53300',
    ({ address }) => ({
      code: 'too_many_connections',
      problem: `${address} has no connection left; raise max_connections or put a pooler before it.`,
    }),
  ],
]);

/**
 * The text of the error is never shown: it may repeat a vector, the value of a filter or the URL with its password.
 * Its SQLSTATE is.
 */
export function classifyFailure(error: unknown, place: Place): Failure {
  if (error instanceof CallFailure) return error;
  const state = stateOf(error);
  const sentence = state === null ? undefined : sentences.get(state);
  if (sentence !== undefined) return sentence(place);
  if (state !== null) {
    return {
      code: 'query_failed',
      problem: `${place.address} answered with the error ${state} of PostgreSQL.`,
    };
  }
  if (isTimeout(error)) return timeout(place);
  const said = error instanceof Error ? error.message : '';
  if (said.startsWith('SASL')) return authentication(place);
  if (said.startsWith('Connection terminated')) {
    return { code: 'connection_reset', problem: `${place.address} closed the connection.` };
  }
  if (said.includes('does not support SSL')) {
    const problem = `${place.address} does not speak TLS; remove sslmode from ${place.configField}.url.`;
    return { code: 'tls_error', problem };
  }
  const { code, problem } = classifyConnectionFailure(innermost(error));
  return code === 'timeout' ? timeout(place) : { code, problem: `${place.address} ${problem}.` };
}

function stateOf(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as Error)
    ? code
    : null;
}

/** The driver has no codes of its own. */
function isTimeout(error: unknown): boolean {
  return (
    error instanceof TimeOver ||
    (error instanceof Error && /^timeout |connection timeout$/.test(error.message))
  );
}

/** A host with two addresses fails with both errors in one. */
function innermost(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error;
}
