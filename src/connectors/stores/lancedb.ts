/**
 * LanceDB in this process: a folder, or a bucket in an object store.
 *
 * The package is not a dependency of recalld, because its library takes about 150 MB. LanceDB users install it next to
 * recalld, and it is loaded on the first call. Source: the types of `@lancedb/lancedb` 0.30.
 */
import type { connect, Table } from '@lancedb/lancedb';
import { createRandom, drawn } from '../../math/stats/random.ts';
import type { StoreConfigOf } from './config.ts';
import { createRemoteStore, rememberShape, type StoreShape } from './remote-store.ts';
import {
  type Attempt,
  type Entry,
  failed,
  type Hit,
  inPortions,
  knownIds,
  needsVectors,
  Refused,
  readSample,
  toChunks,
  unsupported,
} from './store-rows.ts';
import {
  type ListedIds,
  MAX_CHUNKS,
  type NearestRequest,
  type SampledVectors,
  type SampleRequest,
  type ScoreKind,
  type StoredChunk,
  type VectorMetric,
  type VectorStore,
} from './vector-store.ts';

/** The functions of the package that the adapter uses. */
export interface LanceDbPackage {
  readonly connect: typeof connect;
}

interface TableShape extends StoreShape {
  readonly table: Table;
  /** Arrow column types by name. */
  readonly types: ReadonlyMap<string, string>;
}

const scoreKinds = { cosine: 'cosine_distance', l2: 'squared_l2', dot: 'one_minus_dot' } as const satisfies Record<
  VectorMetric,
  ScoreKind
>;

const IDS_PER_CALL = 1000;
const VECTORS_PER_CALL = 500;

const PACKAGE = '@lancedb/lancedb';

/**
 * Creates the store. Nothing is opened before the first call. A sample chooses row positions with the seed and reads
 * only those rows. Every read includes all earlier commits.
 *
 * @param load loads the package
 */
export function createLanceDbStore(
  config: StoreConfigOf<'lancedb'>,
  configField: string,
  load: () => Promise<LanceDbPackage> = () => import('@lancedb/lancedb'),
): VectorStore {
  const place = { ...config, configField };
  let open: Table | undefined;
  const shapes = rememberShape<TableShape>('LanceDB', async (attempt) => {
    open?.close();
    open = await bounded(place, attempt, 'description', () => openTable(place, load));
    return bounded(place, attempt, 'description', () => readShape(place, open as Table));
  });
  const store: LanceDb = { ...place, shape: (attempt) => shapes.current(attempt) };
  return createRemoteStore({
    kind: 'lancedb',
    shapes,
    search: (shape, request, attempt) => search(store, shape, request, attempt),
    placeOf: { score: '_distance', id: `the column ${config.id}`, vector: `the column ${config.embedding}` },
    unexpected: (purpose, lacking) =>
      failed('unexpected_answer', `LanceDB ${purpose} failed: a row has no ${lacking}.`),
    sample: (request, attempt) => sample(store, request, attempt),
    describe: async ({ table }, attempt) => ({ count: await countRows(store, table, attempt), isExactCount: true }),
    existing: (ids, attempt) => existing(store, ids, attempt),
    list: (from, attempt) => list(store, from, attempt),
    chunks: (ids, attempt) => chunksOf(store, ids, attempt),
    close: () => open?.close(),
  });
}

type Place = StoreConfigOf<'lancedb'> & { readonly configField: string };

type LanceDb = Place & { shape(attempt: Attempt): Promise<TableShape> };

async function openTable(
  { uri, storage_options: storageOptions, table, configField }: Place,
  load: () => Promise<LanceDbPackage>,
): Promise<Table> {
  const lancedb = await load().catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
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

async function readShape({ embedding, metric: configured, configField }: Place, table: Table): Promise<TableShape> {
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

async function search(store: LanceDb, shape: TableShape, request: NearestRequest, attempt: Attempt): Promise<Hit[]> {
  const { id, embedding, content } = store;
  const { table, metric, scoreKind } = shape;
  const columns = columnsOf(
    id,
    '_distance',
    request.withContent ? content : undefined,
    needsVectors(scoreKind) ? embedding : undefined,
  );
  const query = table
    .vectorSearch(request.vector)
    .column(embedding)
    .distanceType(metric)
    .limit(request.k)
    .select(columns);
  const conditions = Object.entries(request.filter).map(([name, value]) => equals(shape, name, [value]));
  if (conditions.length > 0) query.where(conditions.join(' AND '));
  if (request.exact) query.bypassVectorIndex();
  const rows = await rowsOf(store, query, 'search', attempt);
  return rows.map((row) => ({ ...entryOf(store, row), score: numberIn(row['_distance']) }));
}

async function sample(store: LanceDb, request: SampleRequest, attempt: Attempt): Promise<SampledVectors> {
  const { n, seed, withContent } = request;
  const { table } = await store.shape(attempt);
  const positions = drawnPositions(await countRows(store, table, attempt), n, seed);
  const columns = columnsOf(store.id, store.embedding, withContent ? store.content : undefined);
  return readSample(positions, VECTORS_PER_CALL, withContent, true, async (some) => {
    const rows = await rowsOf(store, table.takeOffsets([...some]).select(columns), 'sample', attempt);
    return rows.map((row) => entryOf(store, row));
  });
}

/** Returns min(n, count) of the positions below `count`. Every set of positions is equally likely. */
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

async function list(store: LanceDb, from: string | null, attempt: Attempt): Promise<ListedIds> {
  const { table } = await store.shape(attempt);
  const first = Number(from ?? 0);
  const end = Math.min(first + IDS_PER_CALL, await countRows(store, table, attempt));
  if (end <= first) return { ids: [], next: null };
  const places = Array.from({ length: end - first }, (_, place) => first + place);
  const rows = await rowsOf(store, table.takeOffsets(places).select([store.id]), 'list of ids', attempt);
  return { ids: rows.flatMap((row) => textIn(row[store.id]) ?? []), next: String(end) };
}

async function existing(store: LanceDb, ids: readonly string[], attempt: Attempt): Promise<ReadonlySet<string>> {
  const shape = await store.shape(attempt);
  const limit = 2 * IDS_PER_CALL;
  return knownIds(ids, IDS_PER_CALL, limit, async (wanted) => {
    const query = shape.table
      .query()
      .where(equals(shape, store.id, wanted))
      .select([store.id])
      .limit(limit);
    const rows = await rowsOf(store, query, 'look-up of ids', attempt);
    return rows.flatMap((row) => textIn(row[store.id]) ?? []);
  });
}

async function chunksOf(store: LanceDb, ids: readonly string[], attempt: Attempt): Promise<readonly StoredChunk[]> {
  const shape = await store.shape(attempt);
  const columns = columnsOf(store.id, store.content, store.version);
  const chunks: StoredChunk[] = [];
  for (const some of inPortions(ids, IDS_PER_CALL)) {
    const remaining = MAX_CHUNKS - chunks.length;
    if (remaining <= 0) break;
    const query = shape.table
      .query()
      .where(equals(shape, store.id, some))
      .select(columns)
      .limit(remaining);
    const rows = await rowsOf(store, query, 'look-up of chunks', attempt);
    chunks.push(...toChunks(rows.map((row) => entryOf(store, row))));
  }
  return chunks;
}

const countRows = (store: LanceDb, table: Table, attempt: Attempt): Promise<number> =>
  bounded(store, attempt, 'count', () => table.countRows());

const columnsOf = (...names: readonly (string | undefined)[]): string[] => [
  ...new Set(names.filter((name) => name !== undefined)),
];

type Row = Readonly<Record<string, unknown>>;

async function rowsOf(
  store: LanceDb,
  query: { toArray(): Promise<unknown[]> },
  purpose: string,
  attempt: Attempt,
): Promise<readonly Row[]> {
  return (await bounded(store, attempt, purpose, () => query.toArray())) as readonly Row[];
}

function entryOf({ id, embedding, content, version }: LanceDb, row: Row): Entry {
  const text = (name: string | undefined) => (name === undefined ? null : textIn(row[name]));
  return { id: textIn(row[id]), vector: vectorIn(row[embedding]), content: text(content), version: text(version) };
}

function textIn(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : null;
}

const numberIn = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Reads an Arrow vector, which is a view of the fetched data. */
function vectorIn(value: unknown): Float32Array | null {
  const isVector = typeof value === 'object' && value !== null && Symbol.iterator in value;
  return isVector ? Float32Array.from(value as Iterable<number>) : null;
}

/** Returns an SQL condition. Numbers are compared as numbers, and values of other types as text. */
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

/**
 * Ends a call that takes too long or was cancelled. LanceDB continues in the background, but its result is discarded.
 */
async function bounded<Value>(
  { timeout_ms: timeoutMs, configField }: Place,
  { signal, stopwatch, patience }: Attempt,
  purpose: string,
  work: () => Promise<Value>,
): Promise<Value> {
  signal.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs * patience);
  const started = performance.now();
  const either = AbortSignal.any([signal, timeout]);
  const { ended, forget } = endOf(either);
  try {
    return await Promise.race([work(), ended]);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Refused) throw error;
    if (timeout.aborted) {
      const fix = `raise ${configField}.timeout_ms or check the load on the database's storage`;
      throw failed('timeout', `LanceDB ${purpose} did not end within ${timeoutMs * patience} ms; ${fix}.`);
    }
    throw failed('request_refused', `LanceDB ${purpose} failed: ${reasonOf(error)}; check ${configField}.`);
  } finally {
    forget();
    stopwatch.latencyMs += performance.now() - started;
  }
}

/** Rejects with the signal's reason when the signal aborts, unless `forget` was called first. */
function endOf(signal: AbortSignal): { readonly ended: Promise<never>; readonly forget: () => void } {
  const listening = new AbortController();
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { signal: listening.signal });
  });
  return { ended, forget: () => listening.abort() };
}

/** Returns the error message without the source locations that LanceDB appends. */
function reasonOf(error: unknown): string {
  const [first = ''] = String(error instanceof Error ? error.message : error).split(/\s+Caused by:|, \/\S+\.rs/);
  return first.trim().replace(/[.;]$/, '').slice(0, 300);
}
