/** Reads the properties of a Qdrant collection. */
import { at, type Fields, fieldsOf, listOf, numberOf, textOf } from '../../../platform/outbound/json-api.ts';
import { type StoreCalls, settingsHash, unlessForbidden } from '../remote-store.ts';
import { type Attempt, failed, unsupported } from '../store-rows.ts';
import type { ScoredMetric } from '../vector-store.ts';

const distances: Readonly<Record<string, ScoredMetric>> = {
  Cosine: { metric: 'cosine', scoreKind: 'cosine' },
  Dot: { metric: 'dot', scoreKind: 'dot' },
  Euclid: { metric: 'l2', scoreKind: 'l2' },
};

/** Reads the collection. If the API key permits, also reads the aliases and the server version. */
export async function readCollection(
  calls: StoreCalls,
  collection: string,
  vectorName: string | undefined,
  attempt: Attempt,
) {
  const missing = `there is no collection ${collection}; check ${calls.configField}.collection`;
  const path = `/collections/${encodeURIComponent(collection)}`;
  const answer = await calls.json({ method: 'GET', path, purpose: 'metadata request', missing }, attempt);
  const config = fieldsOf(at(answer, 'result', 'config'));
  const params = fieldsOf(config['params']);
  const vector = chooseVector(params['vectors'], vectorName, collection, calls);
  const { size, distance } = vector;
  const dimensions = numberOf(size);
  if (dimensions === null) throw calls.unexpected('metadata request', 'config.params.vectors');
  const name = textOf(distance) ?? '';
  const kinds = distances[name];
  if (kinds === undefined) throw unsupported(`The Qdrant distance ${name} cannot be converted to a cosine.`);
  if (vector['multivector_config'] != null) {
    throw unsupported(
      'A Qdrant vector with multivector_config has several vectors per point, which recalld does not support.',
    );
  }
  const indexes = Object.entries(fieldsOf(at(answer, 'result', 'payload_schema'))).map(
    ([key, index]): [string, string] => [key, textOf(at(index, 'data_type')) ?? ''],
  );
  return {
    dimensions,
    ...kinds,
    /** The server's estimate of the number of points, which is inexact while segments are being merged. */
    count: numberOf(at(answer, 'result', 'points_count')) ?? 0,
    /** True if points are assigned to shards by a user-defined key; such shards may differ in size and content. */
    hasCustomShards: params['sharding_method'] === 'custom',
    /** Types of payload indexes, such as `keyword` or `integer`, keyed by path. */
    indexes: new Map(indexes),
    traits: {
      version: await versionOf(calls, attempt),
      collection: await aliasTarget(calls, collection, attempt),
      vector: settingsHash(vector),
      settings: settingsHash([params, config['hnsw_config'], config['quantization_config']]),
      metadata: settingsHash(config['metadata'] ?? null),
      dimensions: String(dimensions),
      distance: name,
    },
  };
}

function chooseVector(vectors: unknown, name: string | undefined, collection: string, calls: StoreCalls): Fields {
  const named = fieldsOf(vectors);
  if (numberOf(named['size']) !== null) return named;
  if (Object.keys(named).length === 0) throw calls.unexpected('metadata request', 'config.params.vectors');
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
  const answer = await unlessForbidden(calls.json({ method: 'GET', path: '/', purpose: 'version request' }, attempt));
  return textOf(at(answer, 'version')) ?? 'hidden';
}

/** Returns the collection behind an alias, so that recalld notices when the alias is switched to a new collection. */
async function aliasTarget(calls: StoreCalls, name: string, attempt: Attempt): Promise<string> {
  const answer = await unlessForbidden(
    calls.json({ method: 'GET', path: '/aliases', purpose: 'listing of aliases' }, attempt),
  );
  const alias = listOf(at(answer, 'result', 'aliases')).find((entry) => at(entry, 'alias_name') === name);
  return textOf(at(alias, 'collection_name')) ?? name;
}
