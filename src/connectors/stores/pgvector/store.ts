/** A vector store in PostgreSQL with pgvector. */
import { Client } from 'pg';
import { RecalldError } from '../../../core/errors.ts';
import { readDatabaseUrl } from '../../../platform/postgres/database-url.ts';
import type { StoreConfigOf } from '../config.ts';
import { failed, outcomeOf, Refused, SCAN_PATIENCE } from '../store-rows.ts';
import type { Nearest, StoreOutcome, VectorStore } from '../vector-store.ts';
import { chunksOf, existingIds, listIds, sampleRows, searchNearest } from './rows.ts';
import { classifyFailure, createSession, type Place, type Query } from './session.ts';
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

  const call = <Value>(
    purpose: string,
    work: Work<Value>,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<StoreOutcome<Value>> =>
    outcomeOf(signal, async ({ stopwatch }) => {
      let startedMs = performance.now();
      try {
        return await session.run(
          async (query) => {
            const table = known ?? (await lookUpTable(query, { ...config, configField }));
            known = table;
            startedMs = performance.now();
            return work(query, table);
          },
          limitMs,
          signal,
        );
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

  const scan = <Value>(purpose: string, work: Work<Value>, signal: AbortSignal): Promise<StoreOutcome<Value>> => {
    known = null;
    return call(purpose, work, scanMs, signal);
  };

  const nearestOfEach: NonNullable<VectorStore['nearestOfEach']> = (vectors, request, signal) =>
    call(
      'search',
      (query, table) => searchNearest(query, table, vectors, request),
      request.exact ? scanMs : config.timeout_ms,
      signal,
    );

  return {
    kind: 'pgvector',
    async nearest(request, signal) {
      const outcome = await nearestOfEach([request.vector], request, signal);
      if (outcome.kind !== 'ok') return outcome;
      const [value = NOTHING_FOUND] = outcome.value;
      return { ...outcome, value };
    },
    nearestOfEach,
    sample: (request, signal) => scan('sample', (query, table) => sampleRows(query, table, request), signal),
    describe: (signal) => scan('metadata request', describeTable, signal),
    existing: (ids, signal) =>
      call('lookup of ids', (query, table) => existingIds(query, table, ids), config.timeout_ms, signal),
    list: (from, signal) => call('listing of ids', (query, table) => listIds(query, table, from), scanMs, signal),
    chunks: (ids, signal) =>
      call('lookup of chunks', (query, table) => chunksOf(query, table, ids), config.timeout_ms, signal),
    close: () => session.close(),
  };
}

const NOTHING_FOUND: Nearest = { neighbours: [], isShort: true };

function placeOf({ url, table, timeout_ms: timeoutMs }: StoreConfigOf<'pgvector'>, configField: string): Place {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new RecalldError('config_invalid', `${configField}.url: not a postgres:// URL.`);
  }
  const { connection } = readDatabaseUrl(url, `${configField}.url`);
  const { host, port, user } = new Client(connection);
  return { address: `${host}:${port}`, user: user ?? 'of this process', table, configField, timeoutMs };
}
