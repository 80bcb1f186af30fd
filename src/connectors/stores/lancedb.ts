/**
 * LanceDB, which runs in the recalld process and reads a folder or a bucket in an object store.
 *
 * The package is not a dependency of recalld, because its library takes about 150 MB. LanceDB users install the package
 * next to recalld, and recalld loads the package on the first call. Source: the types of `@lancedb/lancedb` 0.30.
 */
import type { connect, Table } from '@lancedb/lancedb';
import { codeOf } from '../../core/errors.ts';
import { createRandom, drawn } from '../../math/stats/random.ts';
import { orAborted } from '../../platform/threads/wait.ts';
import type { StoreConfigOf } from './config.ts';
import { createRemoteStore, rememberShape } from './remote-store.ts';
import {
  type Attempt,
  chunksInPortions,
  type Entry,
  failed,
  knownIds,
  Refused,
  readSample,
  unsupported,
} from './store-rows.ts';
import type { ScoreKind, VectorMetric } from './vector-store.ts';

/** The functions of the package that the adapter uses. */
export interface LanceDbPackage {
  readonly connect: typeof connect;
}

type TableShape = Awaited<ReturnType<typeof readShape>>;

const scoreKinds = { cosine: 'cosine_distance', l2: 'squared_l2', dot: 'one_minus_dot' } as const satisfies Record<
  VectorMetric,
  ScoreKind
>;

const IDS_PER_CALL = 1000;
const VECTORS_PER_CALL = 500;

const PACKAGE = '@lancedb/lancedb';

/**
 * Creates the store. Nothing is opened before the first call. To sample, the store chooses random row positions with
 * the seed and reads only those rows. Every read reflects all earlier commits.
 *
 * @param load loads the package
 */
export function createLanceDbStore(
  config: StoreConfigOf<'lancedb'>,
  configField: string,
  load: () => Promise<LanceDbPackage> = () => import('@lancedb/lancedb'),
) {
  const { id: idColumn, embedding, content, version, timeout_ms: timeoutMs } = config;

  /**
   * Ends a call that takes too long or is cancelled. LanceDB continues the call in the background, and recalld discards
   * the result.
   */
  const bounded = async <Value>(
    { signal, stopwatch, patience }: Attempt,
    purpose: string,
    work: () => Promise<Value>,
  ): Promise<Value> => {
    signal.throwIfAborted();
    const timeout = AbortSignal.timeout(timeoutMs * patience);
    const started = performance.now();
    try {
      return await orAborted(work(), AbortSignal.any([signal, timeout]));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Refused) throw error;
      if (timeout.aborted) {
        const fix = `raise ${configField}.timeout_ms or check the load on the database's storage`;
        throw failed('timeout', `LanceDB ${purpose} did not finish within ${timeoutMs * patience} ms; ${fix}.`);
      }
      throw failed('request_refused', `LanceDB ${purpose} failed: ${reasonOf(error)}; check ${configField}.`);
    } finally {
      stopwatch.latencyMs += performance.now() - started;
    }
  };

  let open: Table | undefined;
  const shapes = rememberShape<TableShape>('LanceDB', async (attempt) => {
    open?.close();
    const table = await bounded(attempt, 'metadata request', () => openTable(config, configField, load));
    open = table;
    return bounded(attempt, 'metadata request', () => readShape(config, configField, table));
  });

  const countRows = (table: Table, attempt: Attempt): Promise<number> =>
    bounded(attempt, 'count', () => table.countRows());

  const rowsOf = async (query: { toArray(): Promise<unknown[]> }, purpose: string, attempt: Attempt) =>
    (await bounded(attempt, purpose, () => query.toArray())) as readonly Row[];

  const entryOf = (row: Row): Entry => {
    const text = (name: string | undefined) => (name === undefined ? null : textIn(row[name]));
    return {
      id: text(idColumn),
      vector: vectorIn(row[embedding]),
      content: text(content),
      version: text(version),
    };
  };

  const idsIn = (rows: readonly Row[]): string[] => rows.flatMap((row) => textIn(row[idColumn]) ?? []);

  return createRemoteStore({
    kind: 'lancedb',
    shapes,
    placeOf: { score: '_distance', id: `value in column ${idColumn}`, vector: `value in column ${embedding}` },
    unexpected: (purpose, lacking) =>
      failed('unexpected_answer', `LanceDB ${purpose} failed: a row has no ${lacking}.`),
    close: () => open?.close(),

    async search(shape, request, attempt) {
      const columns = columnsOf(
        idColumn,
        '_distance',
        request.withContent ? content : undefined,
        request.withVector ? embedding : undefined,
      );
      const query = shape.table
        .vectorSearch(request.vector)
        .column(embedding)
        .distanceType(shape.metric)
        .limit(request.k)
        .select(columns);
      const conditions = Object.entries(request.filter).map(([name, value]) => equals(shape, name, [value]));
      if (conditions.length > 0) query.where(conditions.join(' AND '));
      if (request.exact) query.bypassVectorIndex();
      const rows = await rowsOf(query, 'search', attempt);
      return rows.map((row) => {
        const distance = row['_distance'];
        return { ...entryOf(row), score: typeof distance === 'number' ? distance : null };
      });
    },

    async sample({ n, seed, withContent }, attempt) {
      const { table } = await shapes.current(attempt);
      const positions = drawnPositions(await countRows(table, attempt), n, seed);
      const columns = columnsOf(idColumn, embedding, withContent ? content : undefined);
      return readSample(positions, VECTORS_PER_CALL, withContent, true, async (some) => {
        const rows = await rowsOf(table.takeOffsets([...some]).select(columns), 'sample', attempt);
        return rows.map(entryOf);
      });
    },

    describe: async ({ table }, attempt) => ({ count: await countRows(table, attempt), isExactCount: true }),

    async existing(ids, attempt) {
      const shape = await shapes.current(attempt);
      const limit = 2 * IDS_PER_CALL;
      return knownIds(ids, IDS_PER_CALL, limit, async (wanted) => {
        const query = shape.table
          .query()
          .where(equals(shape, idColumn, wanted))
          .select([idColumn])
          .limit(limit);
        return idsIn(await rowsOf(query, 'lookup of ids', attempt));
      });
    },

    async list(from, attempt) {
      const { table } = await shapes.current(attempt);
      const first = Number(from ?? 0);
      const end = Math.min(first + IDS_PER_CALL, await countRows(table, attempt));
      if (end <= first) return { ids: [], next: null };
      const places = Array.from({ length: end - first }, (_, place) => first + place);
      const rows = await rowsOf(table.takeOffsets(places).select([idColumn]), 'listing of ids', attempt);
      return { ids: idsIn(rows), next: String(end) };
    },

    async chunks(ids, attempt) {
      const shape = await shapes.current(attempt);
      const columns = columnsOf(idColumn, content, version);
      return chunksInPortions(ids, IDS_PER_CALL, async (some, limit) => {
        const query = shape.table
          .query()
          .where(equals(shape, idColumn, some))
          .select(columns)
          .limit(limit);
        return (await rowsOf(query, 'lookup of chunks', attempt)).map(entryOf);
      });
    },
  });
}

async function openTable(
  { uri, storage_options: storageOptions, table }: StoreConfigOf<'lancedb'>,
  configField: string,
  load: () => Promise<LanceDbPackage>,
): Promise<Table> {
  const lancedb = await load().catch((cause: unknown) => {
    if (codeOf(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const fix = `run "npm install ${PACKAGE}@0.30.0" where recalld is installed`;
    throw failed('package_missing', `LanceDB needs the npm package ${PACKAGE}, which is not installed: ${fix}.`);
  });
  const connection = await lancedb.connect(uri, { readConsistencyInterval: 0, storageOptions: { ...storageOptions } });
  try {
    return await connection.openTable(table);
  } catch (error) {
    if (!/was not found/.test(reasonOf(error))) throw error;
    const fix = `check ${configField}.table and .uri`;
    throw failed('collection_missing', `LanceDB has no table ${table} in ${uri}; ${fix}.`);
  }
}

async function readShape(
  { embedding, metric: configured }: StoreConfigOf<'lancedb'>,
  configField: string,
  table: Table,
) {
  const { fields } = await table.schema();
  const types = new Map(fields.map(({ name, type }) => [name, String(type)]));
  const [, length] = /^FixedSizeList\[(\d+)\]<Float(?:32|64)>$/.exec(types.get(embedding) ?? '') ?? [];
  if (length === undefined) {
    const found = types.get(embedding) ?? 'missing';
    throw unsupported(
      `The column ${embedding} of ${configField} is ${found}; recalld reads only fixed-size lists of float32 or float64.`,
    );
  }
  const indexes = (await table.listIndices()).filter(({ columns }) => columns.includes(embedding));
  const statistics = await Promise.all(indexes.map(({ name }) => table.indexStats(name)));
  const index = statistics.find((one) => one?.distanceType !== undefined) ?? null;
  const metric = metricOf(index?.distanceType) ?? configured;
  return {
    table,
    dimensions: Number(length),
    metric,
    scoreKind: scoreKinds[metric],
    /** Arrow column types, keyed by column name. */
    types,
    traits: {
      table: table.name,
      metric,
      index: index === null ? 'none' : index.indexType,
      columns: [...types].map(([name, type]) => `${name} ${type}`).join(', '),
    },
  };
}

function metricOf(distance: string | undefined): VectorMetric | null {
  return distance === 'cosine' || distance === 'l2' || distance === 'dot' ? distance : null;
}

/**
 * Returns n random positions from 0 to count - 1, or all of these positions if n is larger than `count`. Every set of
 * positions is equally likely.
 */
function drawnPositions(count: number, n: number, seed: number): number[] {
  if (count <= 4 * n)
    return drawn(
      Array.from({ length: count }, (_, position) => position),
      n,
      seed,
    );
  const random = createRandom(seed);
  const positions = new Set<number>();
  const words = new Uint32Array(2);
  while (positions.size < n) {
    random(words);
    const [high = 0, low = 0] = words;
    // Combines two random 32-bit numbers into 53 random bits.
    positions.add(Math.floor((((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53) * count));
  }
  return [...positions];
}

const columnsOf = (...names: readonly (string | undefined)[]): string[] => [
  ...new Set(names.filter((name) => name !== undefined)),
];

type Row = Readonly<Record<string, unknown>>;

function textIn(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : null;
}

/** Copies an Arrow vector, which is a view of the fetched data; null for any other value. */
function vectorIn(value: unknown): Float32Array | null {
  const isVector = typeof value === 'object' && value !== null && Symbol.iterator in value;
  return isVector ? Float32Array.from(value as Iterable<number>) : null;
}

/** Returns an SQL condition. Numbers are compared as numbers, and values of other types are compared as strings. */
function equals({ types }: TableShape, name: string, values: readonly string[]): string {
  const column = name
    .split('.')
    .map((part) => `\`${part.replaceAll('`', '``')}\``)
    .join('.');
  const type = types.get(name) ?? '';
  if (/^(Int|Uint|Float)/.test(type)) {
    const numbers = values.filter((value) => /^-?\d+(\.\d+)?$/.test(value));
    return numbers.length === 0 ? 'false' : `${column} IN (${numbers.join(', ')})`;
  }
  const texts = values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ');
  return `${/^(Large)?Utf8$/.test(type) ? column : `CAST(${column} AS STRING)`} IN (${texts})`;
}

/** Returns the error message without the source locations that LanceDB appends. */
function reasonOf(error: unknown): string {
  const [first = ''] = String(error instanceof Error ? error.message : error).split(/\s+Caused by:|, \/\S+\.rs/);
  return first.trim().replace(/[.;]$/, '').slice(0, 300);
}
