/** Calls of a vector store over HTTP: an answer, or a sentence that says what to do. */

import { createHash } from 'node:crypto';
import { createJsonApi, type JsonApiSettings, type JsonCall } from '../outbound/json-api.ts';
import { type Attempt, failed, failureCode } from './outcome.ts';

interface StoreCall extends JsonCall {
  /** What a 404 means, where it is not a wrong address: `there is no collection docs; check ...`. */
  readonly missing?: string;
}

export interface StoreCalls {
  /** `Qdrant`, for messages. */
  readonly service: string;
  /** Where the config describes it: `vector_store`. */
  readonly configField: string;
  /** The JSON of the answer. @throws Refused `failed` */
  json(call: StoreCall, attempt: Attempt): Promise<unknown>;
  /** An answer that is not what the public description of the API says. */
  readonly unexpected: (purpose: string, lacking: string) => Error;
  /** Gives connections back. */
  readonly close: () => void;
}

/** The answer of a call that a key for one collection may not make, null when it may not. */
export async function unlessForbidden(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (/^http_40[1345]$/.test(failureCode(error) ?? '')) return null;
    throw error;
  }
}

/** @throws RecalldError config_invalid, see createJsonApi */
export function createStoreCalls(settings: JsonApiSettings): StoreCalls {
  const { service, configField } = settings;
  const api = createJsonApi(settings);
  return {
    service,
    configField,
    close: () => api.close(),
    async json({ missing, ...call }, { signal, stopwatch, patience }) {
      const answer = await api.call({ ...call, patience }, signal);
      stopwatch.latencyMs += answer.latencyMs;
      if (answer.kind === 'answer') return answer.json;
      if (answer.status === 404 && missing !== undefined) {
        throw failed('collection_missing', `${service} ${call.purpose} failed: ${missing}.`);
      }
      if (answer.status === 401 || answer.status === 403) {
        throw failed(answer.code, answer.message.replace(/\.$/, '; the right to read is enough.'));
      }
      throw failed(answer.code, answer.message);
    },
    unexpected(purpose, lacking) {
      const wayOut = `check that ${configField}.url is that of ${service}, and its version`;
      return failed('unexpected_answer', `${service} ${purpose} failed: its answer has no ${lacking}; ${wayOut}.`);
    },
  };
}

/**
 * A value of a trait that stays the same while documents come and go.
 *
 * A short hash of settings, whatever the order of their keys.
 */
export function settingsHash(settings: unknown): string {
  return createHash('sha256').update(canonicalText(settings)).digest('hex').slice(0, 12);
}

function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalText(inner)}`).join(',')}}`;
}
