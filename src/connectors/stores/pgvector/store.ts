/** A vector store in PostgreSQL with pgvector. */
import { readDatabaseUrl } from '../../../platform/postgres/database-url.ts';
import type { StoreConfigOf } from '../config.ts';
import { failed, outcomeOf, Refused, SCAN_PATIENCE } from '../store-rows.ts';
import type { VectorStore } from '../vector-store.ts';
import { chunksOf, existingIds, listIds, sampleRows, searchNearest } from './rows.ts';
import { classifyFailure, createSession, placeOf, type Query } from './session.ts';
import { describeTable, lookUpTable, type Table } from './table.ts';

type Work<Value> = (query: Query, table: Table) => Promise<Value>;

/**
 * Opens the chunk table. Connections are opened when needed. A filter field is a column or, if its name contains a dot,
 * a path in a JSON column.
 *
 * @throws RecalldError config_invalid for an address that cannot be parsed
 */
export function createPgvectorStore(config: StoreConfigOf<'pgvector'>, configField: string): VectorStore {
  const place = placeOf(config, configField);
  const session = createSession(readDatabaseUrl(config.url, `${configField}.url`), config.timeout_ms);

  const scanMs = SCAN_PATIENCE * config.timeout_ms;
  let known: Table | null = null;

  const call = <Value>(purpose: string, signal: AbortSignal, work: Work<Value>, limitMs = config.timeout_ms) =>
    outcomeOf(signal, async ({ stopwatch }) => {
      let startedMs = performance.now();
      try {
        return await session.run(limitMs, signal, async (query) => {
          const table = known ?? (await lookUpTable(query, { ...config, configField }));
          known = table;
          startedMs = performance.now();
          return work(query, table);
        });
      } catch (error) {
        signal.throwIfAborted();
        // Discards the cached table structure, because the table may have been replaced.
        known = null;
        if (error instanceof Refused) throw error;
        const { code, problem } = classifyFailure(error, { ...place, timeoutMs: limitMs });
        throw failed(code, `pgvector ${purpose} failed: ${problem}`);
      } finally {
        stopwatch.latencyMs = performance.now() - startedMs;
      }
    });

  const scan = <Value>(purpose: string, signal: AbortSignal, work: Work<Value>) => {
    known = null;
    return call(purpose, signal, work, scanMs);
  };

  const nearestOfEach: NonNullable<VectorStore['nearestOfEach']> = (vectors, request, signal) => {
    const limitMs = request.exact ? scanMs : config.timeout_ms;
    return call('search', signal, (query, table) => searchNearest(query, table, vectors, request), limitMs);
  };

  return {
    kind: 'pgvector',
    async nearest(request, signal) {
      const outcome = await nearestOfEach([request.vector], request, signal);
      if (outcome.kind !== 'ok') return outcome;
      const [value = { neighbours: [], isShort: true }] = outcome.value;
      return { ...outcome, value };
    },
    nearestOfEach,
    sample: (request, signal) => scan('sample', signal, (query, table) => sampleRows(query, table, request)),
    describe: (signal) => scan('metadata request', signal, describeTable),
    existing: (ids, signal) => call('lookup of ids', signal, (query, table) => existingIds(query, table, ids)),
    list: (from, signal) => call('listing of ids', signal, (query, table) => listIds(query, table, from), scanMs),
    chunks: (ids, signal) => call('lookup of chunks', signal, (query, table) => chunksOf(query, table, ids)),
    close: () => session.close(),
  };
}
