/**
 * The Chroma server from npm, and collections filled for tests on that server or on a live server at a given address.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { VectorStore } from '../../src/connectors/stores/vector-store.ts';
import type { StoreAccess, StoreService, TestIndex } from '../contract/vector-store-bench.ts';
import { httpService, openStore } from './connectors.ts';
import { freePort } from './free-port.ts';
import { startHttpOutage } from './outage.ts';
import type { VectorDocument } from './vector-documents.ts';
import { waitFor } from './wait-for.ts';

export interface ChromaServer {
  readonly url: string;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export async function startChroma(): Promise<ChromaServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-chroma-'));
  const port = await freePort();
  const program = ['node_modules/chromadb/dist/cli.mjs', 'run', '--path', folder];
  const server = spawn(process.execPath, [...program, '--host', '127.0.0.1', '--port', String(port)], {
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    await waitFor(async () => (await fetch(`${url}/api/v2/heartbeat`)).ok);
  } catch (error) {
    await end(server, folder);
    throw error;
  }
  return { url, headers: {}, stop: () => end(server, folder) };
}

async function end(server: ChildProcess, folder: string): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) {
    const exited = once(server, 'exit');
    server.kill();
    await exited;
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}

const collections = '/api/v2/tenants/default_tenant/databases/default_database/collections';

/** Creates and drops collections in the default database of `server`. */
export function chromaService(server: ChromaServer): StoreService {
  let made = 0;
  return {
    url: server.url,
    async createIndex({ metric }) {
      made += 1;
      const name = `recalld_test_${process.pid}_${made}`;
      const space = metric === 'dot' ? 'ip' : metric;
      await createCollection(server, name, { hnsw: { space } });
      return collectionIndex(server, name, space);
    },
    startOutage: () => startHttpOutage(server.url),
    stop: () => server.stop(),
  };
}

/** Returns the collection id. */
export async function createCollection(server: ChromaServer, name: string, configuration: object): Promise<string> {
  const { id } = (await send(server, 'POST', collections, { name, configuration })) as { id: string };
  return id;
}

export async function dropCollection(server: ChromaServer, name: string): Promise<void> {
  await send(server, 'DELETE', `${collections}/${name}`);
}

export function addRecords(server: ChromaServer, name: string, records: object): Promise<void> {
  return changeRecords(server, name, 'add', records);
}

export function updateRecords(server: ChromaServer, name: string, records: object): Promise<void> {
  return changeRecords(server, name, 'update', records);
}

export function deleteRecords(server: ChromaServer, name: string, ids: readonly string[]): Promise<void> {
  return changeRecords(server, name, 'delete', { ids });
}

async function changeRecords(server: ChromaServer, name: string, change: string, records: object): Promise<void> {
  const { id } = (await send(server, 'GET', `${collections}/${name}`)) as { id: string };
  await send(server, 'POST', `${collections}/${id}/${change}`, records);
}

export function openChroma(
  server: Pick<ChromaServer, 'headers'>,
  collection: string,
  access: StoreAccess,
  id?: string,
): VectorStore {
  const service = httpService(access, server.headers);
  return openStore({ kind: 'chroma', ...service, collection, id, version: 'language' });
}

function collectionIndex(server: ChromaServer, name: string, space: string): TestIndex {
  return {
    async add(documents) {
      const batch = 2000;
      for (let start = 0; start < documents.length; start += batch) {
        await addRecords(server, name, toRecords(documents.slice(start, start + batch)));
      }
    },
    remove: (ids) => deleteRecords(server, name, ids),
    async rebuild() {
      await dropCollection(server, name);
      await createCollection(server, name, { hnsw: { space } });
    },
    open: (access) => openChroma(server, name, access),
    drop: () => dropCollection(server, name),
  };
}

function toRecords(documents: readonly VectorDocument[]): object {
  return {
    ids: documents.map(({ id }) => id),
    embeddings: documents.map(({ vector }) => Array.from(vector)),
    documents: documents.map(({ content }) => content),
    metadatas: documents.map(({ fields }) => fields),
  };
}

async function send(server: ChromaServer, method: string, target: string, body?: object): Promise<unknown> {
  const response = await fetch(`${server.url}${target}`, {
    method,
    headers: { ...server.headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${await response.text()}`);
  return response.json();
}
