/**
 * Resources that all worlds of a process share: PostgreSQL for recalld, the stores, the service, and the healthy
 * history of each shape, which is created once and cloned for every world.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { HOUR_MS } from '../../src/core/time.ts';
import { apiScopes, createApiKeys } from '../../src/platform/access/credentials.ts';
import { migrate } from '../../src/platform/postgres/migrate.ts';
import { aCluster, aPostgresServer } from '../../test/support/postgres-server.ts';
import { withPool } from '../../test/support/with-pool.ts';
import { PIPELINE } from './config.ts';
import { startRagServer } from './rag-service.ts';
import { createService } from './service.ts';
import { type Material, materialOf, type Shape, shapeName } from './shape.ts';
import { startStores } from './stores.ts';
import { START, type World, type WorldSettings, withWorld } from './world.ts';

export interface Bench {
  /** Runs `work` in a clone of the healthy history of the shape. */
  inWorld<T>(shape: Shape, seed: number, work: (world: World, material: Material) => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

/**
 * Number of healthy hours before every world. During these hours, recalld learns the normal ranges and the density
 * baseline; the baseline takes two days.
 */
const HISTORY_HOURS = 52;

/** These databases are temporary, so they need not survive a crash. */
const postgresSettings = [
  'synchronous_commit=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'shared_buffers=128MB',
  'max_connections=100',
  'huge_pages=off',
  'jit=off',
  'autovacuum_naptime=3s',
  'TimeZone=UTC',
];

const HISTORY_SEED = 7;

/**
 * @param historyHours number of hours in the history of every shape; a history of less than two days has no density
 *   baseline, but is sufficient for a test
 */
export async function openBench(signal: AbortSignal, historyHours = HISTORY_HOURS): Promise<Bench> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-faults-'));
  const server = await aPostgresServer(await aCluster(path.join(folder, 'postgres')), postgresSettings);
  await server.start();
  const [rag, stores] = await Promise.all([startRagServer(), startStores()]);
  const urlOf = (database: string): string => server.url.replace(/postgres$/, database);
  await server.query('create database migrated');
  let apiKey = '';
  await withPool({ ...server.connection, database: 'migrated' }, async (pool) => {
    await migrate(pool);
    apiKey = (await createApiKeys(pool).create('bench', apiScopes, 'bench', START)).text;
  });
  let databases = 0;
  const histories = new Map<string, Promise<string>>();

  const clone = async (template: string): Promise<string> => {
    const name = `world_${(databases += 1)}`;
    await server.query(`create database ${name} template ${template} strategy file_copy`);
    return name;
  };
  const settingsOf = async (
    shape: Shape,
    database: string,
    rest: Pick<WorldSettings, 'seed' | 'firstHour'>,
  ): Promise<WorldSettings> => {
    const material = materialOf(shape);
    const store = await stores.open(shape);
    const nowhere = { config: {}, fill: () => Promise.resolve() };
    const healthy = createService(material, nowhere, ([first]) => first as never).trueNdcg();
    return { material, store, rag, databaseUrl: urlOf(database), apiKey, folder, healthy, signal, ...rest };
  };
  const makeHistory = async (shape: Shape): Promise<string> => {
    const database = await clone('migrated');
    const settings = await settingsOf(shape, database, { seed: HISTORY_SEED, firstHour: 0 });
    await withWorld(settings, (world) => passHistory(world, historyHours));
    return database;
  };
  return {
    async inWorld(shape, seed, work) {
      const name = shapeName(shape);
      const making = histories.get(name) ?? makeHistory(shape);
      histories.set(name, making);
      making.catch(() => histories.delete(name));
      const database = await clone(await making);
      try {
        const settings = await settingsOf(shape, database, { seed, firstHour: historyHours });
        return await withWorld(settings, (world) => work(world, settings.material));
      } finally {
        await server.query(`drop database ${database} with (force)`);
      }
    },
    async stop() {
      await Promise.allSettled([rag.stop(), stores.stop()]);
      await server.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/**
 * Golden runs and index rounds start this many hours before the end of the history; density and normal ranges need the
 * whole history.
 */
const MEASURED_BEFORE = 12;
/** The baseline is pinned this many hours before the end of the history. */
const PINNED_BEFORE = 2;
/** Recording of diagnoses and messages starts this many hours before the end of the history. */
const TOLD_BEFORE = 3;

async function passHistory(world: World, hours: number): Promise<void> {
  await world.importGolden();
  for (let hour = 1; hour <= hours; hour++) {
    const at = new Date(START.getTime() + hour * HOUR_MS);
    const before = hours - hour;
    if (before > MEASURED_BEFORE) await world.passHour(at);
    else await world.goldenRun(at, before <= TOLD_BEFORE);
    if (before !== PINNED_BEFORE) continue;
    const { items } = await world.read<{ items: { run_id: string }[] }>(`/v1/golden-runs?pipeline=${PIPELINE}&limit=1`);
    await world.send('POST', '/v1/baselines', { run_id: items[0]?.run_id });
  }
}
