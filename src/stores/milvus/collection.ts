/** What a Milvus collection is made of. */

import type { JsonApiSettings } from '../../outbound/json-api.ts';
import { at, type Fields, fieldsOf, listOf, numberOf, textOf } from '../../outbound/json-value.ts';
import { type Attempt, failed, unsupported } from '../outcome.ts';
import { createStoreCalls, type StoreCalls, settingsHash } from '../store-calls.ts';
import type { ScoreKind, VectorMetric } from '../vector-store.ts';

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

/** Milvus answers 200 to everything and says in `code` whether it worked. */
export function createMilvusCalls(settings: JsonApiSettings, database: string | undefined): MilvusCalls {
  const calls = createStoreCalls(settings);
  const { service, configField } = calls;
  return {
    ...calls,
    async data(path, fields, purpose, attempt) {
      const body = { ...(database === undefined ? {} : { dbName: database }), ...(fields as object) };
      const answer = await calls.json({ method: 'POST', path: `/v2/vectordb${path}`, body, purpose }, attempt);
      const code = numberOf(at(answer, 'code'));
      // Before 2.4.5 success was 200.
      if (code === 0 || code === 200) return at(answer, 'data');
      if (code === null) throw calls.unexpected(purpose, 'code');
      const meaning = meanings[String(code)];
      const start = `${service} ${purpose} failed:`;
      if (meaning !== undefined) {
        throw failed(meaning.code, `${start} ${meaning.problem}; check ${configField}.${meaning.field}.`);
      }
      if (code === 8) throw failed('rate_limited', `${start} it limits the rate; lower ${configField}.max_per_second.`);
      // Its message is not shown, since it may repeat what was sent.
      throw failed(
        'request_refused',
        `${start} it answered code ${code}; check ${configField} and the fields of filters.`,
      );
    },
  };
}

export interface MilvusShape {
  readonly dimensions: number | null;
  readonly metric: VectorMetric;
  readonly scoreKind: ScoreKind;
  /** FLAT compares with every vector. */
  readonly isFlat: boolean;
  /** Name of the primary key. */
  readonly key: string;
  /** Type of each field by its name; dynamic fields are not among them. */
  readonly types: ReadonlyMap<string, string>;
  readonly traits: Readonly<Record<string, string>>;
}

const metrics: Readonly<Record<string, { metric: VectorMetric; scoreKind: ScoreKind }>> = {
  COSINE: { metric: 'cosine', scoreKind: 'cosine' },
  IP: { metric: 'dot', scoreKind: 'dot' },
  L2: { metric: 'l2', scoreKind: 'squared_l2' },
};

/** Two calls: the collection and the index of the vector. */
export async function readMilvusCollection(
  calls: MilvusCalls,
  collectionName: string,
  embedding: string,
  attempt: Attempt,
): Promise<MilvusShape> {
  const { configField } = calls;
  const collection = fieldsOf(await calls.data('/collections/describe', { collectionName }, 'description', attempt));
  const fields = listOf(collection['fields']).map(fieldsOf);
  const vector = fields.find(({ name }) => name === embedding);
  if (vector === undefined) {
    const wayOut = `check ${configField}.embedding`;
    throw failed('vector_unknown', `Milvus collection ${collectionName} has no field ${embedding}; ${wayOut}.`);
  }
  if (textOf(vector['type']) !== 'FloatVector') {
    throw unsupported(`The field ${embedding} of Milvus is of type ${textOf(vector['type'])}, no FloatVector.`);
  }
  const index = listOf(collection['indexes'])
    .map(fieldsOf)
    .find(({ fieldName }) => fieldName === embedding);
  const kinds = metrics[textOf(index?.['metricType']) ?? ''];
  if (index === undefined || kinds === undefined) {
    throw unsupported(`The field ${embedding} of Milvus has no index under COSINE, IP or L2.`);
  }
  const indexName = textOf(index['indexName']) ?? embedding;
  const described = await calls.data('/indexes/describe', { collectionName, indexName }, 'description', attempt);
  const details = fieldsOf(listOf(described)[0]);
  const dimensions = numberOf(parameter(vector, 'dim'));
  const key = fields.find(({ primaryKey }) => primaryKey === true);
  return {
    dimensions,
    ...kinds,
    isFlat: textOf(details['indexType']) === 'FLAT',
    key: textOf(key?.['name']) ?? 'id',
    types: new Map(fields.map(({ name, type }) => [textOf(name) ?? '', textOf(type) ?? ''])),
    traits: {
      collection: textOf(collection['collectionName']) ?? collectionName,
      collection_id: textOf(collection['collectionID']) ?? '',
      vector: settingsHash(vector),
      index: settingsHash([details['indexType'], details['metricType'], index]),
      index_type: textOf(details['indexType']) || 'AUTOINDEX',
      metric: textOf(index['metricType']) ?? '',
      dimensions: String(dimensions ?? 'unknown'),
    },
  };
}

function parameter(field: Fields, name: string): unknown {
  const found = listOf(field['params']).find((entry) => at(entry, 'key') === name);
  return found === undefined ? at(field, 'params', name) : at(found, 'value');
}

/** `name == value` in the language of filters, by the type of the field. Null for a value that it cannot have. */
export function equality(types: MilvusShape['types'], name: string, value: string): string | null {
  const literal = literalOf(types.get(name), value);
  return literal === null ? null : `${nameOf(name)} == ${literal}`;
}

/** `name in [...]`, of the values that the field can have; null when there are none. */
export function anyOf(types: MilvusShape['types'], name: string, values: readonly string[]): string | null {
  const literals = values.flatMap((value) => literalOf(types.get(name), value) ?? []);
  return literals.length === 0 ? null : `${nameOf(name)} in [${literals.join(',')}]`;
}

function literalOf(type: string | undefined, value: string): string | null {
  if (type !== undefined && /^Int\d+$/.test(type)) return /^-?\d{1,19}$/.test(value) ? value : null;
  if (type === 'Float' || type === 'Double') {
    return value.trim() !== '' && Number.isFinite(Number(value)) ? String(Number(value)) : null;
  }
  if (type === 'Bool') return value === 'true' || value === 'false' ? value : null;
  return JSON.stringify(value);
}

function nameOf(name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) throw unsupported(`Filters of Milvus know no field named ${name}.`);
  return name;
}
