/**
 * recalld as several processes, each with one role, that share one PostgreSQL and one queue. Every process reaches
 * PostgreSQL and the queue through its own gates, so that one process can lose its network without affecting the
 * others.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Role } from '../../src/app/serve.ts';
import type { OwnPostgres } from './own-postgres.ts';
import { type Daemon, type Finished, runRecalld, startRecalld } from './recalld.ts';
import { startTcpGate, type TcpGate } from './tcp-gate.ts';

export interface FleetSettings {
  /** Folder for the configs, and the working directory of the processes. */
  readonly folder: string;
  readonly postgres: Pick<OwnPostgres, 'connection'>;
  /** URL of Redis; null stores the jobs in PostgreSQL. */
  readonly redis: string | null;
  readonly roles: readonly Role[];
  /** Additional config keys for `server`, in YAML's flow style. */
  readonly server?: string;
  /** Additional config keys for `storage`, in YAML's flow style. */
  readonly storage?: string;
  /** The rest of the config, from `pipelines:` on. */
  readonly pipelines: string;
  readonly atEnd: (clean: () => Promise<void>) => void;
}

/** One process in the fleet; its name survives restarts. */
export interface Member {
  readonly role: Role;
  readonly daemon: Daemon;
  /** Gates of the process: one to PostgreSQL, and one to Redis if the jobs are in Redis. */
  readonly gates: readonly TcpGate[];
  readonly isUp: boolean;
  /** Kills the process, like `kill -9`; resolves when the process has ended. */
  kill(): Promise<void>;
  /** Stops the process cleanly, by SIGTERM, without notifying the clients. Resolves with the exit code. */
  stop(): Promise<Finished>;
  start(): Promise<void>;
}

export interface Fleet {
  readonly members: readonly Member[];
  /** An API key with every scope. */
  readonly key: string;
  /** Returns the members with a given role. */
  readonly of: (role: Role) => readonly Member[];
  /** Addresses of the running APIs. */
  readonly apis: () => readonly string[];
}

/** Migrates the database, creates a key and starts a process for each of `roles`. */
export async function startFleet(settings: FleetSettings): Promise<Fleet> {
  const { folder, roles, atEnd } = settings;
  const members: Member[] = [];
  for (const [number, role] of roles.entries()) members.push(await aMember(settings, role, number));
  const first = ['--config', configFile(0)];
  const migrated = await runRecalld(['migrate', ...first], folder, {}, atEnd);
  if (migrated.code !== 0) throw new Error(migrated.stderr);
  const create = ['keys', 'create', '--name', 'fleet', '--scope', 'ingest,read,admin', ...first];
  const { stdout } = await runRecalld(create, folder, {}, atEnd);
  await Promise.all(members.map((member) => member.start()));
  return {
    members,
    key: stdout.trim(),
    of: (role) => members.filter((member) => member.role === role),
    apis: () => members.flatMap(({ role, isUp, daemon }) => (role === 'api' && isUp ? [daemon.url] : [])),
  };
}

const configFile = (number: number): string => `member-${number}.yaml`;

async function aMember(settings: FleetSettings, role: Role, number: number): Promise<Member> {
  const { folder, postgres, redis, pipelines, atEnd } = settings;
  const more = (keys = ''): string => (keys === '' ? '' : `, ${keys}`);
  const gateTo = async (target: Parameters<typeof startTcpGate>[0]): Promise<TcpGate> => {
    const gate = await startTcpGate(target);
    atEnd(() => gate.close());
    return gate;
  };
  // The port is looked up for every connection, because a restarted PostgreSQL may have another port.
  const database = await gateTo({
    host: '127.0.0.1',
    get port() {
      return postgres.connection.port;
    },
  });
  const queue = redis === null ? null : await gateTo({ host: '127.0.0.1', port: Number(new URL(redis).port) });
  const { user, password, database: name } = postgres.connection;
  const url = `postgres://${user}:${encodeURIComponent(password)}@${database.host}:${database.port}/${name}`;
  const jobs = queue === null ? '{backend: postgres}' : `{backend: redis, url: "redis://${queue.host}:${queue.port}"}`;
  const config = `server: {port: 0, max_requests_per_minute: 10000000${more(settings.server)}}
storage: {url: "${url}", pool_size: 4${more(settings.storage)}}
queue: ${jobs}
${pipelines}`;
  await writeFile(path.join(folder, configFile(number)), config);
  let daemon: Daemon | undefined;
  let isUp = false;
  const current = (): Daemon => {
    if (daemon === undefined) throw new Error(`the ${role} was never started`);
    return daemon;
  };
  return {
    role,
    gates: queue === null ? [database] : [database, queue],
    get daemon() {
      return current();
    },
    get isUp() {
      return isUp;
    },
    async kill() {
      isUp = false;
      current().child.kill('SIGKILL');
      await current().finished;
    },
    async stop() {
      const finished = await current().stop();
      isUp = false;
      return finished;
    },
    async start() {
      const args = ['serve', '--roles', role, '--config', configFile(number)];
      daemon = await startRecalld(args, folder, {}, atEnd);
      isUp = true;
    },
  };
}
