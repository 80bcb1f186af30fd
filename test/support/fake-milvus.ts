/**
 * A stand-in for the REST interface of Milvus, version 2, as documented in API_Reference_MDX/milvus-restful in
 * github.com/milvus-io/web-content.
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

const metrics = { COSINE: 'cosine', L2: 'l2', IP: 'dot' } as const;

interface Collection extends FakeIndex {
  readonly metricType: string;
}

export function startFakeMilvus(): Promise<FaultServer> {
  const collections = new Map<string, Collection>();
  return startFaultServer(
    fakeApi(({ path, body }) => {
      const action = path.replace('/v2/vectordb', '');
      const name = body.collectionName;
      if (action === '/collections/create') {
        const { metricType } = body.indexParams[0];
        const vector = body.schema.fields.find(({ dataType }: Body) => dataType === 'FloatVector');
        const metric = metrics[metricType as keyof typeof metrics];
        collections.set(name, { ...fakeIndex(metric, Number(vector.elementTypeParams.dim)), metricType });
        return ok({});
      }
      const collection = collections.get(name);
      if (collection === undefined) return { json: { code: 100, message: 'collection not found' } };
      return answer(collection, name, action, body);
    }),
  );
}

function answer(collection: Collection, collectionName: string, action: string, body: Body): FakeAnswer {
  const rows = [...collection.rows.values()];
  const show = ({ fields, vector }: FakeRow): Body => {
    const all: Body = { ...fields, embedding: [...vector] };
    return Object.fromEntries(body.outputFields.map((name: string) => [name, all[name]]));
  };
  switch (action) {
    case '/collections/drop':
      return ok({});
    case '/collections/describe': {
      const field = (name: string, type: string, primaryKey = false) => ({
        name,
        type,
        primaryKey,
        autoId: false,
      });
      const params = [{ key: 'dim', value: String(collection.dimensions) }];
      const fields = [field('doc_id', 'VarChar', true), { ...field('embedding', 'FloatVector'), params }];
      const others = ['text', 'topic', 'language'].map((name) => field(name, 'VarChar'));
      const indexes = [{ fieldName: 'embedding', indexName: 'embedding', metricType: collection.metricType }];
      return ok({
        collectionID: collection.uid,
        collectionName,
        fields: [...fields, ...others],
        indexes,
        shardsNum: 1,
      });
    }
    case '/indexes/describe':
      return ok([
        {
          fieldName: 'embedding',
          indexType: 'FLAT',
          metricType: collection.metricType,
          totalRows: rows.length,
        },
      ]);
    case '/entities/upsert':
      for (const { embedding, ...fields } of body.data) {
        collection.rows.set(fields.doc_id, {
          key: fields.doc_id,
          vector: Float32Array.from(embedding),
          fields,
        });
      }
      return ok({ upsertCount: body.data.length });
    case '/entities/query': {
      if (body.outputFields[0] === 'count(*)') return ok([{ 'count(*)': rows.length }]);
      const share = /^RANDOM_SAMPLE\((.*)\)$/.exec(body.filter)?.[1];
      const found =
        share === undefined
          ? rows.filter(passes(body.filter))
          : shuffled(rows).slice(0, Math.floor(rows.length * Number(share)));
      return ok(found.slice(0, body.limit).map(show));
    }
    case '/entities/search': {
      const [query] = body.data;
      if (query.length !== collection.dimensions) return { json: { code: 65535, message: 'dimension' } };
      const hits = ranked(collection, query, passes(body.filter ?? '')).slice(0, body.limit);
      const score = { cosine: 'cosine', l2: 'squaredL2', dot: 'dot' } as const;
      return ok(hits.map((hit) => ({ ...show(hit.row), distance: hit[score[collection.metric]] })));
    }
    default:
      return { status: 404, json: {} };
  }
}

/** Returns a predicate for a filter of the form `a == "x" and b == "y"` or `a in ["x","y"]`. */
function passes(filter: string) {
  const any = /^(\w+) in (\[.*\])$/s.exec(filter);
  if (any !== null) {
    const values = new Set(JSON.parse(any[2] ?? '[]'));
    return ({ fields }: FakeRow) => values.has(fields[any[1] ?? '']);
  }
  const conditions = [...filter.matchAll(/(\w+) == ("(?:[^"\\]|\\.)*")/g)];
  if (conditions.map(([text]) => text).join(' and ') !== filter) throw new Error('the filter cannot be read');
  return ({ fields }: FakeRow) =>
    conditions.every(([, name = '', literal = '']) => fields[name] === JSON.parse(literal));
}

function ok(data: unknown): FakeAnswer {
  return { json: { code: 0, data } };
}
