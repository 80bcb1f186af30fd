/**
 * A stand-in for Pinecone's data plane, following the types generated from its OpenAPI description
 * (github.com/pinecone-io/pinecone-ts-client).
 */

import {
  type Body,
  type FakeAnswer,
  type FakeIndex,
  type FakeRow,
  fakeApi,
  fakeIndex,
  ranked,
} from './fake-vector-index.ts';
import { type FaultServer, startFaultServer } from './fault-server.ts';

const metrics = { cosine: 'cosine', euclidean: 'l2', dotproduct: 'dot' } as const;

/** Serves many indexes on one host; the first part of the path selects the index. */
export function startFakePinecone(): Promise<FaultServer> {
  const indexes = new Map<string, FakeIndex & { readonly metricName: string }>();
  return startFaultServer(
    fakeApi(({ method, path, body, url }) => {
      const [, name = '', action = ''] = /^\/([^/]+)(.*)$/.exec(path) ?? [];
      if (method === 'PUT') {
        const metric = metrics[body.metric as keyof typeof metrics];
        indexes.set(name, { ...fakeIndex(metric, body.dimension), metricName: body.metric });
        return { json: {} };
      }
      const index = indexes.get(name);
      if (index === undefined) return { status: 404, json: {} };
      const show = (row: FakeRow, values: boolean, metadata: boolean): Body => ({
        id: row.key,
        values: values ? [...row.vector] : [],
        metadata: metadata ? row.fields : undefined,
      });
      return answer(index, action, body, url.searchParams, show);
    }),
  );
}

function answer(
  index: FakeIndex & { readonly metricName: string },
  action: string,
  body: Body,
  query: URLSearchParams,
  show: (row: FakeRow, values: boolean, metadata: boolean) => Body,
): FakeAnswer {
  const rows = [...index.rows.values()];
  switch (action) {
    case '/vectors/upsert':
      for (const { id, values, metadata } of body.vectors) {
        index.rows.set(id, { key: id, vector: Float32Array.from(values), fields: metadata });
      }
      return { json: { upsertedCount: body.vectors.length } };
    case '/describe_index_stats': {
      const namespaces = rows.length === 0 ? {} : { __default__: { vectorCount: rows.length } };
      const { dimensions: dimension, metricName: metric } = index;
      return { json: { namespaces, dimension, metric, totalVectorCount: rows.length, vectorType: 'dense' } };
    }
    case '/vectors/list': {
      const from = Number(query.get('paginationToken') ?? 0);
      const page = rows.slice(from, from + Number(query.get('limit')));
      const pagination = from + page.length < rows.length ? { next: String(from + page.length) } : undefined;
      return { json: { vectors: page.map(({ key }) => ({ id: key })), pagination, namespace: '' } };
    }
    case '/vectors/fetch': {
      const found = query.getAll('ids').flatMap((id) => index.rows.get(id) ?? []);
      return { json: { vectors: Object.fromEntries(found.map((row) => [row.key, show(row, true, true)])) } };
    }
    case '/vectors/fetch_by_metadata': {
      const [key = '', condition] = Object.entries<Body>(body.filter)[0] ?? [];
      const found = rows.filter(({ fields }) => condition.$in.includes(fields[key])).slice(0, body.limit);
      return { json: { vectors: Object.fromEntries(found.map((row) => [row.key, show(row, true, true)])) } };
    }
    case '/query': {
      if (body.vector.length !== index.dimensions) return { status: 400, json: { code: 3 } };
      const passes = ({ fields }: FakeRow) =>
        Object.entries<Body>(body.filter ?? {}).every(([key, { $eq }]) => fields[key] === $eq);
      const score = { cosine: 'cosine', l2: 'squaredL2', dot: 'dot' } as const;
      const hits = ranked(index, body.vector, passes).slice(0, body.topK);
      const matches = hits.map((hit) => ({
        ...show(hit.row, body.includeValues, body.includeMetadata),
        score: hit[score[index.metric]],
      }));
      return { json: { matches, namespace: '' } };
    }
    default:
      return { status: 404, json: {} };
  }
}
