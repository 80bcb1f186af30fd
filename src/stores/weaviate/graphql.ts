/** Queries in GraphQL. Names are checked, values are written as GraphQL strings, which JSON strings are too. */
import { unsupported } from '../outcome.ts';

/** @throws Refused for a text that is no name in GraphQL, which could be something else then */
export function graphqlName(name: string): string {
  if (!/^[_A-Za-z]\w*$/.test(name)) throw unsupported(`GraphQL of Weaviate knows no name like ${name}.`);
  return name;
}

/** Weaviate writes the name of a collection with a capital, however it was created. */
export function collectionName(name: string): string {
  return graphqlName(`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`);
}

interface GetQuery {
  readonly collection: string;
  readonly tenant?: string | undefined;
  /** Arguments beside the tenant: `limit: 10`. */
  readonly args: readonly string[];
  readonly properties: readonly string[];
  /** Fields of `_additional`. */
  readonly additional: readonly string[];
}

export function getQuery({ collection, tenant, args, properties, additional }: GetQuery): string {
  const all = [...args, ...(tenant === undefined ? [] : [`tenant: ${JSON.stringify(tenant)}`])];
  const fields = [...new Set(properties.map(graphqlName)), `_additional { ${additional.join(' ')} }`];
  return `{ Get { ${collection}(${all.join(', ')}) { ${fields.join(' ')} } } }`;
}

export function countQuery(collection: string, tenant: string | undefined): string {
  const args = tenant === undefined ? '' : `(tenant: ${JSON.stringify(tenant)})`;
  return `{ Aggregate { ${collection}${args} { meta { count } } } }`;
}

export function nearVector(vector: Float32Array, target: string | undefined): string {
  const targets = target === undefined ? '' : `, targetVectors: [${JSON.stringify(target)}]`;
  return `nearVector: { vector: ${JSON.stringify([...vector])}${targets} }`;
}

/** Operands that must all hold; none gives no argument. */
export function whereAll(operands: readonly string[]): readonly string[] {
  if (operands.length < 2) return operands.map((operand) => `where: ${operand}`);
  return [`where: { operator: And, operands: [${operands.join(', ')}] }`];
}

/** Objects with one of these UUIDs. */
export function whereIds(ids: readonly string[]): string {
  const operands = ids.map((id) => `{ path: ["id"], operator: Equal, valueText: ${JSON.stringify(id)} }`);
  return `where: { operator: Or, operands: [${operands.join(', ')}] }`;
}
