/** Weaviate's schema over REST and its GraphQL, of the forms that docs.weaviate.io shows. */

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

const metrics = { cosine: 'cosine', 'l2-squared': 'l2', dot: 'dot' } as const;

export function startFakeWeaviate(): Promise<FaultServer> {
  const collections = new Map<string, FakeIndex & { readonly schema: Body }>();
  return startFaultServer(
    fakeApi(({ method, path, body }) => {
      if (path === '/v1/meta') return { json: { version: '1.33.1', modules: {} } };
      if (path === '/v1/schema') {
        const metric = metrics[body.vectorIndexConfig.distance as keyof typeof metrics];
        collections.set(body.class, { ...fakeIndex(metric, 0), schema: body });
        return { json: body };
      }
      if (path === '/v1/batch/objects') {
        for (const { class: name, id, vector, properties } of body.objects) {
          collections.get(name)?.rows.set(id, { key: id, vector: Float32Array.from(vector), fields: properties });
        }
        return { json: body.objects.map(() => ({ result: { status: 'SUCCESS' } })) };
      }
      if (path === '/v1/graphql') {
        const [, operation, name = '', rest = ''] = /^\{ (Get|Aggregate) \{ (\w+)(.*)\} \}$/s.exec(body.query) ?? [];
        const index = collections.get(name);
        if (index === undefined) return { json: { errors: [{ message: `Cannot query field "${name}"` }] } };
        if (operation === 'Get') return got(index, name, rest);
        return { json: { data: { Aggregate: { [name]: [{ meta: { count: index.rows.size } }] } } } };
      }
      const name = path.replace('/v1/schema/', '');
      const index = collections.get(name);
      if (index === undefined) return { status: 404, json: {} };
      if (method === 'DELETE') return { json: collections.delete(name) };
      return { json: index.schema };
    }),
  );
}

function got(index: FakeIndex, name: string, query: string): FakeAnswer {
  const limit = Number(/limit: (\d+)/.exec(query)?.[1]);
  const after = /after: "([^"]*)"/.exec(query)?.[1];
  const vector = /nearVector: \{ vector: (\[[^\]]*\])/.exec(query)?.[1];
  const passes = filterOf(query);
  const [, fields = '', additional = ''] = /\) \{ (.*)_additional \{ (.*) \} \}/s.exec(query) ?? [];
  const show = (row: FakeRow, distance?: number): Body => ({
    ...Object.fromEntries(
      fields
        .split(' ')
        .filter(Boolean)
        .map((field) => [field, row.fields[field]]),
    ),
    _additional: {
      id: row.key,
      distance,
      ...(/\bvector\b/.test(additional) ? { vector: [...row.vector] } : {}),
    },
  });
  const data = (objects: readonly Body[]): FakeAnswer => ({ json: { data: { Get: { [name]: objects } } } });
  if (vector !== undefined) {
    const asked: number[] = JSON.parse(vector);
    const [first] = index.rows.values();
    if (first !== undefined && first.vector.length !== asked.length) {
      return { json: { data: null, errors: [{ message: 'vector lengths do not match' }] } };
    }
    const distance = {
      cosine: (h: Body) => 1 - h.cosine,
      l2: (h: Body) => h.squaredL2,
      dot: (h: Body) => -h.dot,
    };
    const hits = ranked(index, asked, passes).slice(0, limit);
    return data(hits.map((hit) => show(hit.row, distance[index.metric](hit))));
  }
  const sorted = [...index.rows.values()].filter(passes).toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return data(
    sorted
      .filter(({ key }) => after === undefined || key > after)
      .slice(0, limit)
      .map((row) => show(row)),
  );
}

/** The conditions of `where`, all or any of which must hold. */
function filterOf(query: string): (row: FakeRow) => boolean {
  const where = query.slice(Math.max(0, query.indexOf('where: ')));
  if (!query.includes('where: ')) return () => true;
  const conditions = [
    ...where.matchAll(
      /path: \["(\w+)"\], operator: (Equal|ContainsAny), valueText: (\[.*?[^\\]"\]|\[\]|"(?:[^"\\]|\\.)*")/gs,
    ),
  ].map(([, path = '', , literal = '""']) => {
    const values = new Set<string>([JSON.parse(literal)].flat());
    return ({ key, fields }: FakeRow) => values.has(String(path === 'id' ? key : fields[path]));
  });
  return where.includes('operator: Or,')
    ? (row) => conditions.some((condition) => condition(row))
    : (row) => conditions.every((condition) => condition(row));
}
