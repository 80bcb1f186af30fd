/** The vector store Chroma, by version 2 of its HTTP API, which `/openapi.json` of a server describes. */

import type { JsonApiSettings } from '../../outbound/json-api.ts';
import { numberOf, textOf } from '../../outbound/json-value.ts';
import { createReservoir } from '../../stats/random.ts';
import { sizeClass } from '../../vector/size-class.ts';
import { needsVectors, toNearest } from '../neighbours.ts';
import { type Attempt, outcomeOf, outcomeOfScan, unsupported } from '../outcome.ts';
import { type StoredVector, toSample } from '../sampled-vectors.ts';
import type {
  Nearest,
  NearestRequest,
  SampledVectors,
  SampleRequest,
  StoreDescription,
  VectorStore,
} from '../vector-store.ts';
import { type CollectionClient, type CollectionPlace, createCollectionClient } from './client.ts';
import type { Collection } from './collection.ts';
import { readHits } from './records.ts';
import { whereOf } from './where.ts';

/** `vector_store` of kind `chroma`. */
export interface ChromaSettings extends CollectionPlace {
  readonly api: JsonApiSettings;
}

/**
 * Opens a collection; nothing is asked before the first call. Filters name keys of the metadata.
 *
 * @throws RecalldError config_invalid for an address that cannot be called
 */
export function createChromaStore({ api, ...place }: ChromaSettings): VectorStore {
  const client = createCollectionClient(api, place);
  return {
    kind: 'chroma',
    nearest: (request, signal) =>
      outcomeOf(signal, async (attempt) => {
        if (request.exact) throw unsupported('Chroma has no search that passes its index by.');
        return client.shapes.search(request.vector, attempt, (collection, inner) =>
          nearest(client, collection, request, inner),
        );
      }),
    sample: (request, signal) => outcomeOfScan(signal, (attempt) => sample(client, request, attempt)),
    describe: (signal) => outcomeOfScan(signal, (attempt) => describe(client, attempt)),
    existing: (ids, signal) =>
      outcomeOf(signal, async (attempt) => {
        return new Set((await client.get(ids, [], attempt)).map(({ id }) => id));
      }),
    close: async () => client.calls.close(),
  };
}

async function nearest(
  client: CollectionClient,
  { scoreKind }: Collection,
  request: NearestRequest,
  attempt: Attempt,
): Promise<Nearest> {
  const body = {
    query_embeddings: [Array.from(request.vector)],
    n_results: request.k,
    include: [
      'distances',
      ...(request.withContent ? ['documents'] : []),
      ...(needsVectors(scoreKind) ? ['embeddings'] : []),
    ],
    ...whereOf(request.filter),
  };
  const hits = readHits(await client.query(body, attempt));
  if (hits === null) throw client.calls.unexpected('search', 'ids with distances');
  const found = toNearest(hits, scoreKind, request);
  if (found === null) throw client.calls.unexpected('search', 'embeddings');
  return found;
}

/** Lists all ids, draws among them, and reads the vectors of those. */
async function sample(
  client: CollectionClient,
  { n, seed, withContent }: SampleRequest,
  attempt: Attempt,
): Promise<SampledVectors> {
  const reservoir = createReservoir<string>(n, seed);
  await client.listIds((id) => reservoir.offer(id), attempt);
  // A write while the ids are listed may show one twice.
  const ids = [...new Set(reservoir.chosen())];
  const parts = ['embeddings', ...(withContent ? ['documents'] : [])];
  const found = new Map((await client.get(ids, parts, attempt)).map((record) => [record.id, record]));
  // One that was deleted since it was listed is left out.
  const drawn = ids.flatMap((id): StoredVector[] => {
    const { vector = null, document = null } = found.get(id) ?? {};
    return vector === null ? [] : [{ id, vector, content: document }];
  });
  return toSample(drawn, true);
}

async function describe(client: CollectionClient, attempt: Attempt): Promise<StoreDescription> {
  const { id, dimensions, metric, configuration, metadata } = await client.shapes.fresh(attempt);
  const count = numberOf(await client.count(attempt));
  if (count === null) throw client.calls.unexpected('count', 'number of records');
  const traits = {
    chroma: textOf(await client.version(attempt)) ?? 'unknown',
    collection: id,
    metric,
    configuration: JSON.stringify(configuration),
    metadata: JSON.stringify(metadata),
    size_class: sizeClass(count),
  };
  return { count, isExactCount: true, dimensions, metric, traits };
}
