/** What the table of the config is made of. */
import { CallFailure } from './failure.ts';
import { quoted, tableParts } from './identifier.ts';
import type { Query } from './session.ts';

export interface TableSettings {
  readonly table: string;
  readonly id: string;
  readonly embedding: string;
  /** Column of the text of a chunk. */
  readonly content: string | null;
  /** Where the config describes the store. */
  readonly configField: string;
}

export interface Table {
  readonly oid: number;
  /** Schema and table as SQL takes them. */
  readonly name: string;
  /** Whether rows have a place of their own, by which they can be told apart; those of a view have none. */
  readonly hasRowPlaces: boolean;
  /** Number of rows by the last analysis, null when there was none. */
  readonly estimate: number | null;
  readonly idType: string;
  readonly vectorType: 'vector' | 'halfvec';
  /** Schema that pgvector lives in, as SQL takes it; it need not be in the search path. */
  readonly vectorSchema: string;
  readonly extensionVersion: string;
  /** Of the type of the column, null when it takes any length. */
  readonly dimensions: number | null;
}

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

/** @throws CallFailure when a part of it is missing or cannot be searched */
export async function lookUpTable(query: Query, settings: TableSettings): Promise<Table> {
  const relation = await lookUpRelation(query, settings);
  const columns = await query<ColumnRow>(
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, t.typname as "typeName",
       quote_ident(n.nspname) as "typeSchema", a.atttypmod as modifier
     from pg_attribute a join pg_type t on t.oid = a.atttypid join pg_namespace n on n.oid = t.typnamespace
     where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped
     order by a.attnum`,
    [relation.oid],
  );
  const column = (key: 'id' | 'embedding' | 'content', name: string): ColumnRow => {
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
  if (settings.content !== null) column('content', settings.content);
  const vectorType = searchableType(embedding, settings);
  const [extension] = await query<{ version: string }>(
    "select extversion as version from pg_extension where extname = 'vector'",
  );
  return {
    oid: relation.oid,
    name: `${quoted(relation.schema)}.${quoted(relation.name)}`,
    hasRowPlaces: ['r', 'p', 'm'].includes(relation.kind),
    // Before PostgreSQL 14, 0 stood for "never analysed" too.
    estimate: relation.estimate > 0 ? relation.estimate : null,
    idType: id.typeName,
    vectorType,
    vectorSchema: embedding.typeSchema,
    extensionVersion: extension?.version ?? 'unknown',
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
    `there is no table ${table}, or its schema is not in the search path; check ${configField}.table, which keeps upper and lower case.`,
  );
}

function searchableType(column: ColumnRow, { table, configField }: TableSettings): 'vector' | 'halfvec' {
  if (column.typeName === 'vector' || column.typeName === 'halfvec') return column.typeName;
  throw new CallFailure(
    'unsupported_type',
    `the column ${column.name} of ${table} is of type ${column.type}; set ${configField}.embedding to one of type vector or halfvec of pgvector.`,
  );
}
