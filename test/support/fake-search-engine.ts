/**
 * A stand-in for the search interface that Elasticsearch and OpenSearch share, as described in
 * github.com/elastic/elasticsearch-specification and github.com/opensearch-project/documentation-website.
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

const metrics = {
  cosine: 'cosine',
  cosinesimil: 'cosine',
  l2_norm: 'l2',
  l2: 'l2',
  max_inner_product: 'dot',
  innerproduct: 'dot',
} as const;

interface Engine extends FakeIndex {
  readonly name: string;
  readonly field: string;
  readonly mappings: Body;
}

export function startFakeSearchEngine(flavour: 'elasticsearch' | 'opensearch'): Promise<FaultServer> {
  const indexes = new Map<string, Engine>();
  // The client refuses servers that do not identify themselves.
  const headers: Record<string, string> = flavour === 'elasticsearch' ? { 'x-elastic-product': 'Elasticsearch' } : {};
  return startFaultServer(
    fakeApi(({ method, path, body }) => {
      if (path === '/') return { json: { version: { number: flavour === 'elasticsearch' ? '9.2.1' : '3.2.0' } } };
      const [, name = '', action = ''] = /^\/([^/]+)(.*)$/.exec(path) ?? [];
      if (method === 'PUT' && action === '') {
        indexes.set(name, created(name, body));
        return { json: { acknowledged: true } };
      }
      const index = indexes.get(name);
      if (index === undefined) return { status: 404, json: { error: { type: 'index_not_found_exception' } } };
      if (method === 'DELETE') return { json: { acknowledged: indexes.delete(name) } };
      if (action === '/_mapping') return { json: { [name]: { mappings: index.mappings } } };
      if (action === '/_settings') {
        const settings = { 'index.uuid': index.uid, 'index.number_of_shards': '1', 'index.knn': 'true' };
        return { json: { [name]: { settings } } };
      }
      if (action === '/_count') return { json: { count: index.rows.size } };
      if (action === '/_bulk') return bulk(index, body);
      return searched(index, body, flavour);
    }, headers),
  );
}

function created(name: string, { mappings }: Body): Engine {
  const [field, mapping] = Object.entries<Body>(mappings.properties).find(([, { type }]) => /vector/.test(type)) ?? [];
  const metric = metrics[(mapping.similarity ?? mapping.space_type) as keyof typeof metrics];
  return { ...fakeIndex(metric, mapping.dims ?? mapping.dimension), name, field: field ?? '', mappings };
}

function bulk(index: Engine, text: string): FakeAnswer {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line): Body => JSON.parse(line));
  for (let line = 0; line < lines.length; line += 2) {
    const key = lines[line].index._id;
    const { [index.field]: vector, ...fields } = lines[line + 1];
    index.rows.set(key, { key, vector: Float32Array.from(vector), fields });
  }
  return { json: { errors: false } };
}

function searched(index: Engine, body: Body, flavour: string): FakeAnswer {
  const knn = flavour === 'elasticsearch' ? body.knn : body.query?.knn?.[index.field];
  const asked = knn?.query_vector ?? knn?.vector;
  const wrongLength = (vector: Body) => vector !== undefined && vector.length !== index.dimensions;
  if (asked !== undefined) {
    if (wrongLength(asked)) return { status: 400, json: { error: { type: 'parsing_exception' } } };
    const hits = ranked(index, asked, passes([knn.filter ?? []].flat())).slice(0, Math.min(knn.k, body.size));
    return answer(
      index,
      body,
      flavour,
      hits.map((hit) => [hit.row, scoreOf(index, hit)]),
    );
  }
  const { ids, function_score: random, script_score: script } = body.query;
  if (ids !== undefined) {
    const rows = [...index.rows.values()].filter(({ key }) => ids.values.includes(key));
    return answer(
      index,
      body,
      flavour,
      rows.slice(0, body.size).map((row) => [row, 1]),
    );
  }
  if (random !== undefined) {
    const { seed, field } = random.functions[0].random_score;
    if (field !== '_seq_no') return { status: 400, json: {} };
    const drawn = shuffled(index.rows.values(), seed).slice(0, body.size);
    return answer(
      index,
      body,
      flavour,
      drawn.map((row, place) => [row, 1 - place / 1e6]),
    );
  }
  if (script !== undefined) {
    const { source, params } = script.script;
    const functions = {
      cosine: /cosineSimilarity\(/,
      l2: /l2norm\(|l2Squared\(/,
      dot: /dotProduct\(|innerProduct\(/,
    };
    if (source.search(functions[index.metric]) < 0) return { status: 400, json: {} };
    const vector = params.query_vector ?? params.query_value;
    if (wrongLength(vector)) return { status: 400, json: {} };
    const hits = ranked(index, vector, passes(script.query.bool.filter)).slice(0, body.size);
    return answer(
      index,
      body,
      flavour,
      hits.map((hit) => [hit.row, scoreOf(index, hit)]),
    );
  }
  if (body.aggs === undefined) {
    const [[name, wanted] = ['', []]] = Object.entries<Body>(body.query.terms);
    const rows = [...index.rows.values()].filter(({ fields }) => wanted.includes(fields[name]));
    return answer(
      index,
      body,
      flavour,
      rows.slice(0, body.size).map((row) => [row, 1]),
    );
  }
  if (body.aggs.ids.composite !== undefined) {
    const { size, sources, after } = body.aggs.ids.composite;
    const ids = [...index.rows.values()]
      .map(({ fields }): Body => fields[sources[0].id.terms.field])
      .toSorted((a, b) => (a < b ? -1 : 1));
    const page = ids.filter((id) => after === undefined || id > after.id).slice(0, size);
    const buckets = page.map((id) => ({ key: { id }, doc_count: 1 }));
    const last = page.length === 0 ? {} : { after_key: { id: page.at(-1) } };
    return { json: { hits: { hits: [] }, aggregations: { ids: { buckets, ...last } } } };
  }
  const { field, include } = body.aggs.ids.terms;
  const known = new Set([...index.rows.values()].map(({ fields }) => fields[field]));
  const buckets = include.filter((id: string) => known.has(id)).map((key: string) => ({ key, doc_count: 1 }));
  return { json: { hits: { hits: [] }, aggregations: { ids: { buckets } } } };
}

function passes(filters: readonly Body[]) {
  return ({ fields }: FakeRow): boolean =>
    filters
      .flatMap((filter) => filter.bool?.filter ?? [filter])
      .every(({ term }) => term === undefined || Object.entries(term).every(([key, value]) => fields[key] === value));
}

function scoreOf({ metric }: FakeIndex, { cosine, squaredL2, dot }: ReturnType<typeof ranked>[number]): number {
  if (metric === 'cosine') return (1 + cosine) / 2;
  if (metric === 'l2') return 1 / (1 + squaredL2);
  return dot < 0 ? 1 / (1 - dot) : dot + 1;
}

function answer(
  index: Engine,
  body: Body,
  flavour: string,
  scored: readonly (readonly [FakeRow, number])[],
): FakeAnswer {
  const includes: string[] = body._source === false ? [] : body._source.includes;
  const hits = scored.map(([row, score]) => {
    // Elasticsearch 9.2 omits vectors from `_source`.
    const vector = flavour === 'opensearch' ? { [index.field]: [...row.vector] } : {};
    const all: Body = { ...row.fields, ...vector };
    const source = Object.fromEntries(includes.filter((key) => key in all).map((key) => [key, all[key]]));
    const fields = body.fields === undefined ? {} : { fields: { [index.field]: [...row.vector] } };
    const shown = body._source === false ? {} : { _source: source };
    return { _index: index.name, _id: row.key, _score: score, ...shown, ...fields };
  });
  return { json: { took: 1, timed_out: false, _shards: { total: 1, failed: 0 }, hits: { hits } } };
}
