/**
 * A stand-in for Weaviate's REST interface for schemas and its GraphQL interface, in the formats that docs.weaviate.io
 * shows.
 */

import { type FieldNode, Kind, type OperationDefinitionNode, parse, valueFromASTUntyped } from 'graphql';
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
        const { operation, name, query } = readQuery(body.query);
        const index = collections.get(name);
        if (index === undefined) return { json: { errors: [{ message: `Cannot query field "${name}"` }] } };
        if (operation === 'Get') return got(index, name, query);
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

interface Query {
  readonly args: Body;
  /** Properties of the objects. */
  readonly properties: readonly string[];
  /** Fields of `_additional`. */
  readonly additional: readonly string[];
}

/** Parses `{ Get { Chunks(...) { ... } } }` by the GraphQL grammar. @throws GraphQLError for anything else */
function readQuery(text: string): { readonly operation: string; readonly name: string; readonly query: Query } {
  const [definition] = parse(text).definitions;
  if (definition?.kind !== Kind.OPERATION_DEFINITION) throw new Error('no query');
  const [operation] = fieldsIn(definition);
  const [collection] = fieldsIn(operation);
  if (operation === undefined || collection === undefined) throw new Error('no collection');
  const args = Object.fromEntries(
    (collection.arguments ?? []).map(({ name, value }) => [name.value, valueFromASTUntyped(value)]),
  );
  const names = (fields: readonly FieldNode[]): string[] => fields.map(({ name }) => name.value);
  const fields = fieldsIn(collection);
  const additional = names(fieldsIn(fields.find(({ name }) => name.value === '_additional')));
  const properties = names(fields).filter((name) => name !== '_additional');
  return { operation: operation.name.value, name: collection.name.value, query: { args, properties, additional } };
}

function fieldsIn(node: FieldNode | OperationDefinitionNode | undefined): FieldNode[] {
  return (node?.selectionSet?.selections ?? []).filter((selection) => selection.kind === Kind.FIELD);
}

function got(index: FakeIndex, name: string, { args, properties, additional }: Query): FakeAnswer {
  const { limit, after, where, nearVector } = args;
  const passes = where === undefined ? () => true : conditionOf(where);
  const show = (row: FakeRow, distance?: number): Body => ({
    ...Object.fromEntries(properties.map((field) => [field, row.fields[field]])),
    _additional: {
      id: row.key,
      distance,
      ...(additional.includes('vector') ? { vector: [...row.vector] } : {}),
    },
  });
  const data = (objects: readonly Body[]): FakeAnswer => ({ json: { data: { Get: { [name]: objects } } } });
  if (nearVector !== undefined) {
    const asked: number[] = nearVector.vector;
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

function conditionOf({ operator, operands, path, valueText }: Body): (row: FakeRow) => boolean {
  if (operator === 'And' || operator === 'Or') {
    const inner: ((row: FakeRow) => boolean)[] = operands.map(conditionOf);
    return (row) => (operator === 'And' ? inner.every((holds) => holds(row)) : inner.some((holds) => holds(row)));
  }
  const values = new Set<string>([valueText].flat());
  return ({ key, fields }) => values.has(String(path[0] === 'id' ? key : fields[path[0]]));
}
