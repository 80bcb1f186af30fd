/** What a Qdrant collection is made of. */

import { at, type Fields, fieldsOf, listOf, numberOf, textOf } from '../../outbound/json-value.ts';
import { sizeClass } from '../../vector/size-class.ts';
import { type Attempt, failed, unsupported } from '../outcome.ts';
import { type StoreCalls, unlessForbidden } from '../store-calls.ts';
import { settingsHash } from '../traits.ts';
import type { ScoreKind, VectorMetric } from '../vector-store.ts';

export interface CollectionShape {
  readonly dimensions: number;
  readonly metric: VectorMetric;
  readonly scoreKind: ScoreKind;
  /** Points, an estimate of the server that is off while segments are merged. */
  readonly count: number;
  /** Shards by a key of the user, which may differ in size and in what they hold. */
  readonly hasCustomShards: boolean;
  readonly traits: Readonly<Record<string, string>>;
}

const distances: Readonly<Record<string, { metric: VectorMetric; scoreKind: ScoreKind }>> = {
  Cosine: { metric: 'cosine', scoreKind: 'cosine' },
  Dot: { metric: 'dot', scoreKind: 'dot' },
  Euclid: { metric: 'l2', scoreKind: 'l2' },
};

/** Calls: the collection, the aliases and the version; the last two may be forbidden. */
export async function readCollection(
  calls: StoreCalls,
  collection: string,
  vectorName: string | undefined,
  attempt: Attempt,
): Promise<CollectionShape> {
  const missing = `there is no collection ${collection}; check ${calls.configField}.collection`;
  const path = `/collections/${encodeURIComponent(collection)}`;
  const answer = await calls.json({ method: 'GET', path, purpose: 'description', missing }, attempt);
  const config = fieldsOf(at(answer, 'result', 'config'));
  const params = fieldsOf(config['params']);
  const vector = chooseVector(params['vectors'], vectorName, collection, calls);
  const { size, distance } = vector;
  const dimensions = numberOf(size);
  if (dimensions === null) throw calls.unexpected('description', 'config.params.vectors');
  const name = textOf(distance) ?? '';
  const kinds = distances[name];
  if (kinds === undefined) throw unsupported(`Vectors under the distance ${name} of Qdrant have no cosine.`);
  if (vector['multivector_config'] != null) {
    throw unsupported('A Qdrant vector with multivector_config holds several vectors for each point.');
  }
  const count = numberOf(at(answer, 'result', 'points_count')) ?? 0;
  return {
    dimensions,
    ...kinds,
    count,
    hasCustomShards: params['sharding_method'] === 'custom',
    traits: {
      version: await versionOf(calls, attempt),
      collection: await aliasTarget(calls, collection, attempt),
      vector: settingsHash(vector),
      settings: settingsHash([params, config['hnsw_config'], config['quantization_config']]),
      metadata: settingsHash(config['metadata'] ?? null),
      dimensions: String(dimensions),
      distance: name,
      size_class: sizeClass(count),
    },
  };
}

function chooseVector(
  vectors: unknown,
  name: string | undefined,
  collection: string,
  calls: StoreCalls,
): Fields {
  const named = fieldsOf(vectors);
  if (numberOf(named['size']) !== null) return named;
  if (Object.keys(named).length === 0) throw calls.unexpected('description', 'config.params.vectors');
  const chosen = name === undefined ? undefined : named[name];
  if (chosen !== undefined) return fieldsOf(chosen);
  const known = Object.keys(named).toSorted().join(', ');
  const problem = name === undefined ? 'has only named vectors' : `has no vector named ${name}`;
  throw failed(
    'vector_unknown',
    `Qdrant collection ${collection} ${problem}; set ${calls.configField}.vector_name to one of: ${known}.`,
  );
}

async function versionOf(calls: StoreCalls, attempt: Attempt): Promise<string> {
  const answer = await unlessForbidden(calls.json({ method: 'GET', path: '/', purpose: 'version' }, attempt));
  return textOf(at(answer, 'version')) ?? 'hidden';
}

/** The collection behind an alias, so that a switch of the alias to a new collection is seen. */
async function aliasTarget(calls: StoreCalls, name: string, attempt: Attempt): Promise<string> {
  const answer = await unlessForbidden(
    calls.json({ method: 'GET', path: '/aliases', purpose: 'list of aliases' }, attempt),
  );
  const alias = listOf(at(answer, 'result', 'aliases')).find((entry) => at(entry, 'alias_name') === name);
  return textOf(at(alias, 'collection_name')) ?? name;
}
