/**
 * A stand-in for Qdrant's REST interface, as described in docs/redoc/master/openapi.json in github.com/qdrant/qdrant.
 */

import {
  type Body,
  type FakeAnswer,
  type FakeIndex,
  type FakeRow,
  fakeApi,
  fakeIndex,
  ranked,
  shuffled,
} from './fake-vector-index.ts';
import { type FaultServer, startFaultServer } from './fault-server.ts';

const metrics = { Cosine: 'cosine', Dot: 'dot', Euclid: 'l2' } as const;

export function startFakeQdrant(): Promise<FaultServer> {
  const collections = new Map<string, FakeIndex & { readonly config: Body }>();

  const payloadOf = (row: FakeRow, wanted: Body): unknown => {
    if (wanted === undefined || wanted === false) return undefined;
    const keys: string[] = wanted === true ? Object.keys(row.fields) : wanted;
    return Object.fromEntries(keys.filter((key) => key in row.fields).map((key) => [key, row.fields[key]]));
  };
  const record = (index: FakeIndex, row: FakeRow, body: Body): Body => {
    // A cosine collection stores unit vectors.
    const norm = index.metric === 'cosine' ? Math.hypot(...row.vector) : 1;
    return {
      id: row.key,
      payload: payloadOf(row, body.with_payload),
      vector:
        Array.isArray(body.with_vector) || body.with_vector === true
          ? [...row.vector].map((value) => value / norm)
          : undefined,
    };
  };
  const meets =
    (row: FakeRow) =>
    ({ should, key, match, range }: Body): boolean => {
      if (should !== undefined) return should.some(meets(row));
      const value = row.fields[key];
      if (range !== undefined) return typeof value === 'number' && value >= range.gte && value <= range.lte;
      return 'any' in match ? match.any.includes(value) : value === match.value;
    };
  const passes = (filter: Body) => (row: FakeRow) => (filter?.must ?? []).every(meets(row));

  const points = (index: FakeIndex, action: string, body: Body): FakeAnswer => {
    const rows = [...index.rows.values()];
    if (action === '') {
      const found = body.ids.flatMap((id: string) => index.rows.get(id) ?? []);
      return ok(found.map((row: FakeRow) => record(index, row, body)));
    }
    if (action === '/scroll') {
      const passed = rows.filter(passes(body.filter)).toSorted((a, b) => (a.key < b.key ? -1 : 1));
      const from = body.offset === undefined ? 0 : passed.findIndex(({ key }) => key >= body.offset);
      const page = passed.slice(from, from + body.limit);
      return ok({
        points: page.map((row) => record(index, row, body)),
        next_page_offset: passed[from + body.limit]?.key ?? null,
      });
    }
    if (action !== '/query') return { status: 404, json: {} };
    if (body.query.sample === 'random') {
      const some = shuffled(rows.filter(passes(body.filter))).slice(0, body.limit);
      return ok({ points: some.map((row) => ({ ...record(index, row, body), score: 0, version: 1 })) });
    }
    if (body.query.length !== index.dimensions) return { status: 400, json: { status: { error: 'Wrong input' } } };
    const hits = ranked(index, body.query, passes(body.filter)).slice(0, body.limit);
    const score = { cosine: 'cosine', dot: 'dot', l2: 'squaredL2' } as const;
    return ok({
      points: hits.map((hit) => {
        const value = hit[score[index.metric]];
        return {
          ...record(index, hit.row, body),
          version: 1,
          score: index.metric === 'l2' ? Math.sqrt(value) : value,
        };
      }),
    });
  };

  return startFaultServer(
    fakeApi(({ method, path, body }) => {
      if (path === '/') return { json: { title: 'qdrant - vector search engine', version: '1.18.2' } };
      if (path === '/aliases') return ok({ aliases: [] });
      const [, name = '', action = ''] = /^\/collections\/([^/]+)(.*)$/.exec(path) ?? [];
      if (method === 'PUT' && action === '') {
        const { size, distance } = body.vectors;
        const config = {
          params: { vectors: body.vectors, shard_number: 1 },
          hnsw_config: { m: 16 },
          metadata: body.metadata,
        };
        collections.set(name, { ...fakeIndex(metrics[distance as keyof typeof metrics], size), config });
        return ok(true);
      }
      const index = collections.get(name);
      if (index === undefined) return { status: 404, json: { status: { error: `Not found: Collection` } } };
      if (method === 'GET') {
        return ok({
          status: 'green',
          points_count: index.rows.size,
          segments_count: 1,
          config: index.config,
        });
      }
      if (method === 'PATCH') {
        Object.assign(index.config.hnsw_config, body.hnsw_config);
        return ok(true);
      }
      if (method === 'DELETE') return ok(collections.delete(name));
      if (method === 'PUT') {
        for (const { id, vector, payload } of body.points) {
          index.rows.set(id, { key: id, vector: Float32Array.from(vector), fields: payload });
        }
        return ok({ status: 'completed' });
      }
      return points(index, action.replace('/points', ''), body);
    }),
  );
}

function ok(result: unknown): FakeAnswer {
  return { json: { result, status: 'ok', time: 0.0001 } };
}
