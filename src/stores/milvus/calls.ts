/** Milvus answers 200 to everything and says in `code` whether it worked. */
import type { JsonApiSettings } from '../../outbound/json-api.ts';
import { at, numberOf } from '../../outbound/json-value.ts';
import { type Attempt, failed } from '../outcome.ts';
import { createStoreCalls, type StoreCalls } from '../store-calls.ts';

export interface MilvusCalls extends StoreCalls {
  /** The field `data` of the answer. @throws Refused */
  data(path: string, body: unknown, purpose: string, attempt: Attempt): Promise<unknown>;
}

/** Codes of pkg/util/merr of github.com/milvus-io/milvus, and 1800 of the REST interface. */
const meanings: Readonly<Record<string, { code: string; problem: string; field: string }>> = {
  100: { code: 'collection_missing', problem: 'there is no such collection', field: 'collection' },
  101: { code: 'not_loaded', problem: 'the collection is not loaded; load it', field: 'collection' },
  800: { code: 'collection_missing', problem: 'there is no such database', field: 'database' },
  1800: { code: 'http_401', problem: 'the token is refused', field: 'token' },
};

export function createMilvusCalls(settings: JsonApiSettings, database: string | undefined): MilvusCalls {
  const calls = createStoreCalls(settings);
  const { service, configField } = calls;
  return {
    ...calls,
    async data(path, fields, purpose, attempt) {
      const body = { ...(database === undefined ? {} : { dbName: database }), ...(fields as object) };
      const answer = await calls.json(
        { method: 'POST', path: `/v2/vectordb${path}`, body, purpose },
        attempt,
      );
      const code = numberOf(at(answer, 'code'));
      // Before 2.4.5 success was 200.
      if (code === 0 || code === 200) return at(answer, 'data');
      if (code === null) throw calls.unexpected(purpose, 'code');
      const meaning = meanings[String(code)];
      const start = `${service} ${purpose} failed:`;
      if (meaning !== undefined) {
        throw failed(meaning.code, `${start} ${meaning.problem}; check ${configField}.${meaning.field}.`);
      }
      if (code === 8)
        throw failed('rate_limited', `${start} it limits the rate; lower ${configField}.max_per_second.`);
      // Its message is not shown, since it may repeat what was sent.
      throw failed(
        'request_refused',
        `${start} it answered code ${code}; check ${configField} and the fields of filters.`,
      );
    },
  };
}
