/** What FT.INFO says of an index. */

import { failed, unsupported } from '../outcome.ts';
import type { Reply } from '../redis/connection.ts';
import { repliesOf, replyNumber, replyText, valueAfter } from '../redis/reply.ts';
import { settingsHash } from '../traits.ts';
import type { ScoreKind, VectorMetric } from '../vector-store.ts';

export interface IndexedField {
  /** Name in queries. */
  readonly attribute: string;
  /** Field of a hash, or path into a JSON document. */
  readonly identifier: string;
  /** TAG, TEXT, NUMERIC, VECTOR, ... */
  readonly type: string;
  readonly hasEmptyValues: boolean;
}

export interface IndexInfo {
  readonly dimensions: number;
  readonly count: number;
  readonly metric: VectorMetric;
  readonly scoreKind: ScoreKind;
  readonly keyType: 'HASH' | 'JSON';
  readonly prefixes: readonly string[];
  /** FLAT compares with every vector. */
  readonly isFlat: boolean;
  readonly vector: IndexedField;
  readonly fields: readonly IndexedField[];
  readonly traits: Readonly<Record<string, string>>;
}

const metrics: Readonly<Record<string, { metric: VectorMetric; scoreKind: ScoreKind }>> = {
  COSINE: { metric: 'cosine', scoreKind: 'cosine_distance' },
  L2: { metric: 'l2', scoreKind: 'squared_l2' },
  IP: { metric: 'dot', scoreKind: 'one_minus_dot' },
};

/**
 * Source: content/commands/ft.info.md of github.com/redis/docs, and src/info/info_command.c of
 * github.com/RediSearch/RediSearch for the fields of vectors.
 *
 * @param name of the vector field, as attribute or as identifier
 */
export function readIndexInfo(reply: Reply, name: string, configField: string): IndexInfo {
  const info = repliesOf(reply);
  const definition = repliesOf(valueAfter(info, 'index_definition'));
  const attributes = repliesOf(valueAfter(info, 'attributes')).map(repliesOf);
  const isNamed = (attribute: readonly Reply[]) =>
    ['attribute', 'identifier'].some((key) => replyText(valueAfter(attribute, key)) === name);
  const vector = attributes.find((attribute) => isNamed(attribute) && typeOf(attribute) === 'VECTOR');
  if (vector === undefined) {
    throw failed(
      'vector_unknown',
      `Redis description failed: the index has no vector field ${name}; check ${configField}.embedding.`,
    );
  }
  const text = (key: string) => replyText(valueAfter(vector, key)) ?? 'unknown';
  const kinds = metrics[text('distance_metric')];
  const dimensions = replyNumber(valueAfter(vector, 'dim'));
  if (kinds === undefined || dimensions === null || text('data_type') !== 'FLOAT32') {
    throw unsupported(`The vectors of ${name} are not of type FLOAT32 under COSINE, L2 or IP.`);
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

function fieldOf(attribute: readonly Reply[]): IndexedField {
  const identifier = replyText(valueAfter(attribute, 'identifier')) ?? '';
  return {
    identifier,
    attribute: replyText(valueAfter(attribute, 'attribute')) ?? identifier,
    type: typeOf(attribute),
    hasEmptyValues: attribute.some((value) => replyText(value) === 'INDEXEMPTY'),
  };
}

function typeOf(attribute: readonly Reply[]): string {
  return replyText(valueAfter(attribute, 'type')) ?? '';
}
