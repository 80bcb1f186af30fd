/** Reads the schema of a Weaviate collection. */
import { capitalized } from '../../../core/format.ts';
import { at, fieldsOf, listOf, numberOf, textOf } from '../../../platform/outbound/json-api.ts';
import { type StoreCalls, settingsHash } from '../remote-store.ts';
import { type Attempt, failed, unsupported } from '../store-rows.ts';
import type { ScoredMetric } from '../vector-store.ts';

interface Property {
  /** Data type: `text`, `int`, `number`, `boolean`, `uuid`, ... */
  readonly type: string;
  readonly tokenization: string;
}

type CollectionSchema = Awaited<ReturnType<typeof readSchema>>;

const distances: Readonly<Record<string, ScoredMetric>> = {
  cosine: { metric: 'cosine', scoreKind: 'cosine_distance' },
  dot: { metric: 'dot', scoreKind: 'negative_dot' },
  'l2-squared': { metric: 'l2', scoreKind: 'squared_l2' },
};

/**
 * Reads the schema with one call. `traits` exclude the properties of the collection, because Weaviate's automatic
 * schema adds the properties of each new document to the collection.
 */
export async function readSchema(
  calls: StoreCalls,
  collection: string,
  vectorName: string | undefined,
  attempt: Attempt,
) {
  const missing = `there is no collection ${collection}; check ${calls.configField}.collection`;
  const path = `/v1/schema/${encodeURIComponent(collection)}`;
  const schema = fieldsOf(await calls.json({ method: 'GET', path, purpose: 'metadata request', missing }, attempt));
  const named = fieldsOf(schema['vectorConfig']);
  const names = Object.keys(named).toSorted();
  const chosen = vectorName ?? (names.length === 1 ? names[0] : undefined);
  if (names.length > 0 && (chosen === undefined || named[chosen] === undefined)) {
    const fix = `set ${calls.configField}.vector_name to one of: ${names.join(', ')}`;
    throw failed('vector_unknown', `Weaviate collection ${collection} has named vectors; ${fix}.`);
  }
  const vector = names.length > 0 && chosen !== undefined ? fieldsOf(named[chosen]) : schema;
  const type = textOf(vector['vectorIndexType']) ?? 'hnsw';
  const config = fieldsOf(vector['vectorIndexConfig']);
  // A dynamic index has separate settings for a flat index and for an HNSW index.
  const distance = textOf(config['distance']) ?? textOf(at(config, 'hnsw', 'distance')) ?? 'cosine';
  const kinds = distances[distance];
  if (kinds === undefined || at(config, 'multivector', 'enabled') === true) {
    throw unsupported(
      `Weaviate scores cannot be converted to a cosine: the distance ${distance} is not supported, or an object has several vectors.`,
    );
  }
  const properties = listOf(schema['properties']).map((property): [string, Property] => [
    textOf(at(property, 'name')) ?? '',
    {
      type: textOf(at(property, 'dataType')) ?? '',
      tokenization: textOf(at(property, 'tokenization')) ?? '',
    },
  ]);
  return {
    ...kinds,
    /** True for a flat index, which compares a query with every vector. */
    isFlat: type === 'flat',
    properties: new Map(properties),
    traits: {
      collection: textOf(schema['class']) ?? collection,
      vector: settingsHash([chosen ?? null, type, config, vector['vectorizer'], schema['moduleConfig']]),
      index: type,
      metric: distance,
      sharding: settingsHash(at(schema, 'shardingConfig', 'desiredCount') ?? null),
    },
  };
}

/**
 * Returns a condition such as `{ path: ["lang"], operator: Equal, valueText: "de" }`, in which the name of the value
 * field depends on the property's type; null for a value that the property cannot have.
 *
 * @throws Refused for a text property whose values Weaviate compares word by word
 */
export function equality(schema: CollectionSchema, name: string, value: string): string | null {
  const property = schema.properties.get(name);
  const literal = literalOf(property, name, value);
  return literal === null ? null : `{ path: [${JSON.stringify(graphqlName(name))}], operator: Equal, ${literal} }`;
}

/** Returns a condition that matches objects whose text property equals one of these values. */
export function whereAnyOf(schema: CollectionSchema, name: string, values: readonly string[]): string {
  literalOf(schema.properties.get(name), name, '');
  const path = JSON.stringify(graphqlName(name));
  return `where: { path: [${path}], operator: ContainsAny, valueText: ${JSON.stringify(values)} }`;
}

function literalOf(property: Property | undefined, name: string, value: string): string | null {
  const number = value.trim() === '' ? null : numberOf(value);
  const type: string = property?.type ?? '';
  switch (type) {
    case 'text':
      if (property?.tokenization === 'field') return `valueText: ${JSON.stringify(value)}`;
      throw unsupported(
        `Weaviate compares ${name} word by word; only a text property with tokenization "field" can be compared exactly.`,
      );
    case 'uuid':
      return `valueText: ${JSON.stringify(value)}`;
    case 'int':
      return Number.isSafeInteger(number) ? `valueInt: ${number}` : null;
    case 'number':
      return number === null ? null : `valueNumber: ${number}`;
    case 'boolean':
      return value === 'true' || value === 'false' ? `valueBoolean: ${value}` : null;
    default:
      throw unsupported(`A filter on ${name} requires a Weaviate property of type text, uuid, int, number or boolean.`);
  }
}

/**
 * Validates a name for GraphQL. Values need no validation: they are inserted as JSON strings, which are valid GraphQL
 * strings.
 *
 * @throws Refused if the string is not a valid name and could therefore be used for injection
 */
export function graphqlName(name: string): string {
  if (!/^[_A-Za-z]\w*$/.test(name)) throw unsupported(`Weaviate's GraphQL does not support the name ${name}.`);
  return name;
}

/** Weaviate capitalizes collection names, regardless of how they were created. */
export function collectionName(name: string): string {
  return graphqlName(capitalized(name));
}

export function nearVector(vector: Float32Array, target: string | undefined): string {
  const targets = target === undefined ? '' : `, targetVectors: [${JSON.stringify(target)}]`;
  return `nearVector: { vector: ${JSON.stringify([...vector])}${targets} }`;
}

/** Returns one `where` argument that combines the operands with AND. Returns an empty list if there are no operands. */
export function whereAll(operands: readonly string[]): readonly string[] {
  if (operands.length < 2) return operands.map((operand) => `where: ${operand}`);
  return [`where: { operator: And, operands: [${operands.join(', ')}] }`];
}

/** Matches objects with one of these UUIDs. */
export function whereIds(ids: readonly string[]): string {
  const operands = ids.map((id) => `{ path: ["id"], operator: Equal, valueText: ${JSON.stringify(id)} }`);
  return `where: { operator: Or, operands: [${operands.join(', ')}] }`;
}
