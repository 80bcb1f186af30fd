/** Reads the FT.INFO reply of an index. */

import { settingsHash } from '../remote-store.ts';
import { failed, unsupported } from '../store-rows.ts';
import type { NearestRequest, ScoredMetric } from '../vector-store.ts';
import { type Reply, repliesOf, replyNumber, replyText, valueAfter } from './connection.ts';

/** A query in the FT.SEARCH language, dialect 2. Values are passed as parameters and never occur in `text`. */
export interface SearchQuery {
  readonly text: string;
  /** Parameter names and values, alternating. */
  readonly params: readonly (string | Buffer)[];
}

/** Name of the distance in the response. */
export const DISTANCE = '__recalld_distance';

/**
 * Returns `(@topic:{$f0})=>[KNN 10 @embedding $vector AS ...]`; null if no document can match. A NUMERIC field matches
 * only numbers, and a TAG field has empty values only if it was created with INDEXEMPTY.
 *
 * @throws Refused for a field that is not indexed as TAG or NUMERIC
 */
export function nearestQuery(info: IndexInfo, request: NearestRequest, vector: Buffer): SearchQuery | null {
  const params: (string | Buffer)[] = ['vector', vector];
  const conditions: string[] = [];
  for (const [name, value] of Object.entries(request.filter)) {
    const field = info.fields.find(({ attribute, identifier }) => attribute === name || identifier === name);
    const param = `f${conditions.length}`;
    const condition = equality(field, name, value, param);
    if (condition === null) return null;
    if (condition.includes(`$${param}`)) params.push(param, value);
    conditions.push(condition);
  }
  const filter = conditions.length === 0 ? '*' : `(${conditions.join(' ')})`;
  return {
    text: `${filter}=>[KNN ${request.k} @${escaped(info.vector.attribute)} $vector AS ${DISTANCE}]`,
    params,
  };
}

/** Returns a condition that matches any of these TAG values. */
export function anyOfQuery(field: IndexedField, values: readonly string[]): SearchQuery {
  const params = values.flatMap((value, place) => [`v${place}`, value]);
  return {
    text: `@${escaped(field.attribute)}:{${values.map((_, place) => `$v${place}`).join(' | ')}}`,
    params,
  };
}

function equality(field: IndexedField | undefined, name: string, value: string, param: string): string | null {
  if (field?.type === 'TAG') {
    const start = `@${escaped(field.attribute)}:`;
    if (value !== '') return `${start}{$${param}}`;
    return field.hasEmptyValues ? `${start}{""}` : null;
  }
  if (field?.type === 'NUMERIC') {
    return value.trim() === '' || Number.isNaN(Number(value))
      ? null
      : `@${escaped(field.attribute)}:[$${param} $${param}]`;
  }
  throw unsupported(`A filter on ${name} requires the field to be indexed as TAG or NUMERIC.`);
}

function escaped(name: string): string {
  return name.replaceAll(/[^\w]/gu, String.raw`\$&`);
}

export type IndexedField = ReturnType<typeof fieldOf>;

export type IndexInfo = ReturnType<typeof readIndexInfo>;

const metrics: Readonly<Record<string, ScoredMetric>> = {
  COSINE: { metric: 'cosine', scoreKind: 'cosine_distance' },
  L2: { metric: 'l2', scoreKind: 'squared_l2' },
  IP: { metric: 'dot', scoreKind: 'one_minus_dot' },
};

/**
 * Sources: content/commands/ft.info.md in github.com/redis/docs and, for the vector fields, src/info/info_command.c in
 * github.com/RediSearch/RediSearch.
 *
 * @param name attribute or identifier of the vector field
 */
export function readIndexInfo(reply: Reply, name: string, configField: string) {
  const info = repliesOf(reply);
  const definition = repliesOf(valueAfter(info, 'index_definition'));
  const attributes = repliesOf(valueAfter(info, 'attributes')).map(repliesOf);
  const isNamed = (attribute: readonly Reply[]) =>
    ['attribute', 'identifier'].some((key) => replyText(valueAfter(attribute, key)) === name);
  const vector = attributes.find((attribute) => isNamed(attribute) && typeOf(attribute) === 'VECTOR');
  if (vector === undefined) {
    throw failed(
      'vector_unknown',
      `Redis metadata request failed: the index has no vector field ${name}; check ${configField}.embedding.`,
    );
  }
  const text = (key: string) => replyText(valueAfter(vector, key)) ?? 'unknown';
  const kinds = metrics[text('distance_metric')];
  const dimensions = replyNumber(valueAfter(vector, 'dim'));
  if (kinds === undefined || dimensions === null || text('data_type') !== 'FLOAT32') {
    throw unsupported(`The vectors in ${name} are not of type FLOAT32 with the metric COSINE, L2 or IP.`);
  }
  const keyType = replyText(valueAfter(definition, 'key_type')) === 'JSON' ? 'JSON' : 'HASH';
  const prefixes = repliesOf(valueAfter(definition, 'prefixes')).map((prefix) => replyText(prefix) ?? '');
  const settings = vector.map((value) => replyText(value) ?? '');
  return {
    dimensions,
    count: replyNumber(valueAfter(info, 'num_docs')) ?? 0,
    ...kinds,
    keyType,
    prefixes: prefixes.length === 0 ? [''] : prefixes,
    /** True for a FLAT index, which compares a query with every vector. */
    isFlat: text('algorithm') === 'FLAT',
    vector: fieldOf(vector),
    fields: attributes.map(fieldOf),
    traits: {
      index: replyText(valueAfter(info, 'index_name')) ?? '',
      key_type: keyType,
      prefixes: settingsHash(prefixes),
      vector: settingsHash(settings),
      algorithm: text('algorithm'),
      metric: text('distance_metric'),
      dimensions: String(dimensions),
    },
  };
}

function fieldOf(attribute: readonly Reply[]) {
  const identifier = replyText(valueAfter(attribute, 'identifier')) ?? '';
  return {
    /** Name of the field in a hash, or path in a JSON document. */
    identifier,
    /** Name of the field in queries. */
    attribute: replyText(valueAfter(attribute, 'attribute')) ?? identifier,
    /** Type of the field: TAG, TEXT, NUMERIC, VECTOR, ... */
    type: typeOf(attribute),
    hasEmptyValues: attribute.some((value) => replyText(value) === 'INDEXEMPTY'),
  };
}

function typeOf(attribute: readonly Reply[]): string {
  return replyText(valueAfter(attribute, 'type')) ?? '';
}
