/** Reads the structure of the configured table. */

import { sizeClass } from '../../../math/vector/size-class.ts';
import type { StoreConfigOf } from '../config.ts';
import type { StoreDescription, VectorMetric } from '../vector-store.ts';
import { CallFailure, type Query } from './session.ts';

/**
 * recalld counts the rows of a table that has at most this many. For a larger table, recalld uses PostgreSQL's
 * estimate, because counting reads the whole table.
 */
const COUNTED_ROWS = 100_000;

export async function describeTable(query: Query, table: Table): Promise<StoreDescription> {
  const { metric } = table.settings;
  const isExactCount = table.estimate === null || table.estimate < COUNTED_ROWS;
  const count = isExactCount ? await countRows(query, table) : Math.round(table.estimate ?? 0);
  const dimensions = table.dimensions ?? (await lengthOfOne(query, table));
  const indexes = await vectorIndexes(query, table);
  const traits = {
    pgvector: table.extensionVersion,
    table: await tableFile(query, table),
    column: dimensions === null ? table.vectorType : `${table.vectorType}(${dimensions})`,
    metric,
    index: (await servingMethod(query, table)) ?? 'none',
    index_definition: indexes.map(({ definition }) => definition).join('; '),
    index_files: indexes.map(({ files }) => files).join(';'),
    ...(await searchSettings(query, table)),
    size_class: sizeClass(count),
  };
  return { count, isExactCount, dimensions, metric, traits };
}

/** An operator in the JSON form of a PostgreSQL query plan. */
interface PlanNode {
  readonly 'Index Name'?: string;
  /** Present for an index that returns rows ordered by a distance. */
  readonly 'Order By'?: string;
  readonly Plans?: readonly PlanNode[];
}

/**
 * Returns the access method of the index that the planner uses for a search, such as `hnsw`; null if it uses none. Only
 * the query plan reveals the access method: an index may cover an expression or only part of the table, support only
 * another distance, or belong to a table behind a view.
 */
async function servingMethod(
  query: Query,
  { name, vectorSchema: schema, vectorType, dimensions, settings: { embedding, metric } }: Table,
): Promise<string | null> {
  const column = quoted(embedding);
  const vector = `'${JSON.stringify(Array.from({ length: dimensions ?? 1 }, () => 1))}'::${schema}.${vectorType}`;
  await query('set local enable_seqscan = off; set local enable_sort = off; set local enable_indexscan = on');
  const [row] = await query<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
    `explain (format json) select 1 from ${name} where ${column} is not null
     order by ${column} operator(${schema}.${distanceOperators[metric]}) ${vector} limit 1`,
  );
  await query('reset enable_seqscan; reset enable_sort; reset enable_indexscan');
  const index = orderingIndex(row?.['QUERY PLAN'][0]?.Plan ?? {});
  if (index === null) return null;
  const [found] = await query<{ method: string }>(
    `select m.amname as method from pg_class c join pg_am m on m.oid = c.relam
     where c.relname = $1 and c.relkind in ('i', 'I') order by m.amname = 'btree' limit 1`,
    [index],
  );
  return found?.method ?? null;
}

function orderingIndex(node: PlanNode): string | null {
  if (node['Order By'] !== undefined && node['Index Name'] !== undefined) return node['Index Name'];
  for (const child of node.Plans ?? []) {
    const found = orderingIndex(child);
    if (found !== null) return found;
  }
  return null;
}

async function countRows(query: Query, { name, settings }: Table): Promise<number> {
  const column = quoted(settings.embedding);
  const [row] = await query<{ count: string }>(`select count(${column}) as count from ${name}`);
  return Number(row?.count ?? 0);
}

async function lengthOfOne(query: Query, table: Table): Promise<number | null> {
  const column = quoted(table.settings.embedding);
  const [row] = await query<{ length: number }>(
    `select ${table.vectorSchema}.vector_dims(${column}) as length from ${table.name} where ${column} is not null limit 1`,
  );
  return row?.length ?? null;
}

/**
 * Returns the approximate indexes on the column, each with the identifiers of its files. An index has one file, or one
 * file per partition. A rebuilt index has new files.
 */
function vectorIndexes(query: Query, { oid, settings }: Table) {
  return query<{ definition: string; files: string }>(
    `select pg_get_indexdef(i.indexrelid) as definition,
       coalesce(pg_relation_filenode(i.indexrelid)::text,
         (select string_agg(pg_relation_filenode(relid)::text, ',' order by relid)
          from pg_partition_tree(i.indexrelid) where isleaf), '') as files
     from pg_index i
       join pg_class c on c.oid = i.indexrelid
       join pg_am m on m.oid = c.relam
     where i.indrelid = $1::oid and m.amname in ('hnsw', 'ivfflat')
       and i.indkey[0] = (select attnum from pg_attribute where attrelid = $1::oid and attname = $2)
     order by definition`,
    [oid, settings.embedding],
  );
}

/** Identifies the table's file, which changes when the table is truncated, rewritten or replaced. */
async function tableFile(query: Query, { oid }: Table): Promise<string> {
  const [row] = await query<{ file: string }>('select coalesce(pg_relation_filenode($1::oid), $1::oid)::text as file', [
    oid,
  ]);
  return row?.file ?? '';
}

/** Reads pgvector's search settings, which exist only after a cast to `vector` has loaded the pgvector library. */
async function searchSettings(query: Query, { vectorSchema }: Table): Promise<Record<string, string>> {
  await query(`select '[1]'::${vectorSchema}.vector`);
  const [row] = await query<Record<string, string | null>>(
    `select current_setting('hnsw.ef_search', true) as ef_search, current_setting('ivfflat.probes', true) as probes,
       current_setting('hnsw.iterative_scan', true) as iterative_scan`,
  );
  return Object.fromEntries(
    Object.entries(row ?? {}).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

/** pgvector operators by distance. */
export const distanceOperators: Readonly<Record<VectorMetric, string>> = { cosine: '<=>', l2: '<->', dot: '<#>' };

type TableSettings = StoreConfigOf<'pgvector'> & { readonly configField: string };

export type Table = Awaited<ReturnType<typeof lookUpTable>>;

interface RelationRow {
  readonly oid: number;
  readonly schema: string;
  readonly name: string;
  readonly kind: string;
  readonly estimate: number;
}

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly typeName: string;
  readonly typeSchema: string;
  readonly modifier: number;
}

/** @throws CallFailure if the table or one of its columns is missing or cannot be searched */
export async function lookUpTable(query: Query, settings: TableSettings) {
  const relation = await lookUpRelation(query, settings);
  const columns = await query<ColumnRow>(
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, t.typname as "typeName",
       quote_ident(n.nspname) as "typeSchema", a.atttypmod as modifier
     from pg_attribute a join pg_type t on t.oid = a.atttypid join pg_namespace n on n.oid = t.typnamespace
     where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped
     order by a.attnum`,
    [relation.oid],
  );
  const column = (key: 'id' | 'embedding' | 'content' | 'version', name: string): ColumnRow => {
    const found = columns.find((each) => each.name === name);
    if (found !== undefined) return found;
    const names = columns.map((each) => each.name).join(', ');
    throw new CallFailure(
      'column_missing',
      `the table ${settings.table} has no column ${name}; set ${settings.configField}.${key} to one of: ${names}.`,
    );
  };
  const id = column('id', settings.id);
  const embedding = column('embedding', settings.embedding);
  if (settings.content !== undefined) column('content', settings.content);
  if (settings.version !== undefined) column('version', settings.version);
  const vectorType = searchableType(embedding, settings);
  const [extension] = await query<{ version: string }>(
    "select extversion as version from pg_extension where extname = 'vector'",
  );
  return {
    settings,
    oid: relation.oid,
    /** Schema and table, quoted for SQL. */
    name: `${quoted(relation.schema)}.${quoted(relation.name)}`,
    /** True if rows have a physical position that identifies them; view rows have none. */
    hasRowPlaces: ['r', 'p', 'm'].includes(relation.kind),
    /**
     * Number of rows at the last ANALYZE; null if the table has never been analyzed. Before PostgreSQL 14, 0 also meant
     * "never analyzed".
     */
    estimate: relation.estimate > 0 ? relation.estimate : null,
    idType: id.typeName,
    vectorType,
    /** pgvector's schema, quoted for SQL; it need not be in the search path. */
    vectorSchema: embedding.typeSchema,
    extensionVersion: extension?.version ?? 'unknown',
    /** Vector length from the column type; null if the column accepts any length. */
    dimensions: embedding.modifier > 0 ? embedding.modifier : null,
  };
}

async function lookUpRelation(query: Query, { table, configField }: TableSettings): Promise<RelationRow> {
  const parts = tableParts(table);
  const name = parts?.map((part) => quoted(part)).join('.') ?? '';
  const [relation] =
    parts === null
      ? []
      : await query<RelationRow>(
          `select c.oid::int8::float8 as oid, n.nspname as schema, c.relname as name, c.relkind as kind,
             c.reltuples::float8 as estimate
           from pg_class c join pg_namespace n on n.oid = c.relnamespace
           where c.oid = to_regclass($1) and c.relkind in ('r', 'p', 'm', 'v', 'f')`,
          [name],
        );
  if (relation !== undefined) return relation;
  throw new CallFailure(
    'table_missing',
    `there is no table ${table}, or its schema is not in the search path; check ${configField}.table, which is case-sensitive.`,
  );
}

function searchableType(column: ColumnRow, { table, configField }: TableSettings): 'vector' | 'halfvec' {
  if (column.typeName === 'vector' || column.typeName === 'halfvec') return column.typeName;
  throw new CallFailure(
    'unsupported_type',
    `the column ${column.name} of ${table} is of type ${column.type}; set ${configField}.embedding to a column of the pgvector type vector or halfvec.`,
  );
}

/** Quotes a name, so that SQL reads it as one identifier regardless of the characters that it contains. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Splits `chunks`, `rag.chunks` or `"My Schema"."My.Table"` into the parts of a table name; null for any other text.
 * Unlike in SQL, an unquoted name keeps its case, because users copy names exactly as they are stored.
 */
export function tableParts(name: string): readonly string[] | null {
  const part = /^(?:"((?:[^"]|"")+)"|([^".]+))(\.|$)/;
  const parts: string[] = [];
  let rest = name.trim();
  for (;;) {
    const match = part.exec(rest);
    if (match === null) return null;
    parts.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    rest = rest.slice(match[0].length);
    if (match[3] === '') return parts.length <= 2 ? parts : null;
  }
}
