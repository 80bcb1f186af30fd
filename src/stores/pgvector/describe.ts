/** What the store is made of. */
import { sizeClass } from '../../vector/size-class.ts';
import type { StoreDescription, VectorMetric } from '../vector-store.ts';
import { quoted } from './identifier.ts';
import type { Query } from './session.ts';
import type { Table, TableSettings } from './table.ts';

/** From here on the estimate of PostgreSQL stands for the count, since counting reads the whole table. */
const COUNTED_ROWS = 100_000;

interface IndexRow {
  readonly method: string;
  readonly operatorClass: string;
  readonly definition: string;
  readonly files: string;
  readonly isValid: boolean;
}

export async function describeTable(
  query: Query,
  table: Table,
  settings: TableSettings & { readonly metric: VectorMetric },
): Promise<StoreDescription> {
  const { metric } = settings;
  const isExactCount = table.estimate === null || table.estimate < COUNTED_ROWS;
  const count = isExactCount ? await countRows(query, table, settings) : Math.round(table.estimate ?? 0);
  const dimensions = table.dimensions ?? (await lengthOfOne(query, table, settings));
  const indexes = await vectorIndexes(query, table, settings);
  const serving = indexes.find(
    ({ operatorClass, isValid }) => isValid && operatorClass.includes(classWord[metric]),
  );
  const traits = {
    pgvector: table.extensionVersion,
    table: await tableFile(query, table),
    column: dimensions === null ? table.vectorType : `${table.vectorType}(${dimensions})`,
    metric,
    index: serving?.method ?? 'none',
    index_definition: indexes.map(({ definition }) => definition).join('; '),
    index_files: indexes.map(({ files }) => files).join(';'),
    ...(await searchSettings(query, table)),
    size_class: sizeClass(count),
  };
  return { count, isExactCount, dimensions, metric, traits };
}

/** What the names of operator classes say of their distance. */
const classWord: Readonly<Record<VectorMetric, string>> = { cosine: '_cosine_', l2: '_l2_', dot: '_ip_' };

async function countRows(query: Query, table: Table, { embedding }: TableSettings): Promise<number> {
  const [row] = await query<{ count: string }>(
    `select count(${quoted(embedding)}) as count from ${table.name}`,
  );
  return Number(row?.count ?? 0);
}

async function lengthOfOne(query: Query, table: Table, { embedding }: TableSettings): Promise<number | null> {
  const column = quoted(embedding);
  const [row] = await query<{ length: number }>(
    `select ${table.vectorSchema}.vector_dims(${column}) as length from ${table.name} where ${column} is not null limit 1`,
  );
  return row?.length ?? null;
}

/** The approximate indexes over the column, with the files of their parts: a rebuilt index has another file. */
function vectorIndexes(query: Query, table: Table, { embedding }: TableSettings): Promise<IndexRow[]> {
  return query<IndexRow>(
    `select m.amname as method, o.opcname as "operatorClass", pg_get_indexdef(i.indexrelid) as definition,
       coalesce(pg_relation_filenode(i.indexrelid)::text,
         (select string_agg(pg_relation_filenode(relid)::text, ',' order by relid)
          from pg_partition_tree(i.indexrelid) where isleaf), '') as files,
       i.indisvalid as "isValid"
     from pg_index i
       join pg_class c on c.oid = i.indexrelid
       join pg_am m on m.oid = c.relam
       join pg_opclass o on o.oid = i.indclass[0]
     where i.indrelid = $1::oid and m.amname in ('hnsw', 'ivfflat')
       and (i.indkey[0] = 0 or i.indkey[0] = (
         select attnum from pg_attribute where attrelid = $1::oid and attname = $2))
     order by definition`,
    [table.oid, embedding],
  );
}

/** A table that was emptied, rewritten or put in the place of another has another file. */
async function tableFile(query: Query, { oid }: Table): Promise<string> {
  const [row] = await query<{ file: string }>(
    'select coalesce(pg_relation_filenode($1::oid), $1::oid)::text as file',
    [oid],
  );
  return row?.file ?? '';
}

/** They are known once the library is loaded, which the cast does. */
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
