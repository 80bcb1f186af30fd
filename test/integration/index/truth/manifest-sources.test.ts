/** Manifests from a real file, program, endpoint and database. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { manifestSchema } from '../../../../src/index/truth/config.ts';
import { createManifestSource } from '../../../../src/index/truth/manifest.ts';
import { useDatabase } from '../../../support/database.ts';
import { type FaultServer, startFaultServer } from '../../../support/fault-server.ts';

const database = useDatabase('empty');
const never = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'recalld-manifest-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(
  config: object,
  from: string | null = null,
  signal = never,
): Promise<{ ids: string[]; next: string | null }> {
  const source = createManifestSource(manifestSchema.parse(config), 'pipelines[0].index.manifest');
  const ids: string[] = [];
  let next: string | null = null;
  for await (const part of source(from, signal)) {
    ids.push(...part.lines.map(({ text }) => String((JSON.parse(text) as { id: unknown }).id)));
    next = part.next;
  }
  return { ids, next };
}

describe('a manifest file', () => {
  it('is read line by line, and resumed while it is unchanged', async () => {
    const file = path.join(folder, 'manifest.jsonl');
    await writeFile(file, '{"id": "a"}\n{"id": "b"}\n');
    const first = await read({ kind: 'file', path: file });
    expect(first.ids).toEqual(['a', 'b']);
    expect((await read({ kind: 'file', path: file }, first.next)).ids).toEqual([]);
    await writeFile(file, '{"id": "a"}\n{"id": "b"}\n{"id": "c"}\n');
    expect((await read({ kind: 'file', path: file }, first.next)).ids).toEqual(['a', 'b', 'c']);
  });

  it('is reported when it does not exist', async () => {
    await expect(read({ kind: 'file', path: path.join(folder, 'none') })).rejects.toThrow(/none/);
  });
});

describe('a manifest program', () => {
  const command = (script: string, more = {}) => ({
    kind: 'command',
    command: [process.execPath, '-e', script],
    ...more,
  });

  it('is run with its configured environment, and its whole output is read', async () => {
    const script = 'for (let i = 0; i < 20000; i++) console.log(JSON.stringify({ id: `${process.env.NAME}-${i}` }))';
    const { ids } = await read(command(script, { environment: { NAME: 'doc' } }));
    expect(ids).toHaveLength(20_000);
    expect(ids.at(-1)).toBe('doc-19999');
  });

  it('returns no manifest when it fails, does not exist or takes too long', async () => {
    const half = 'console.log(JSON.stringify({ id: 1 })); process.exitCode = 3';
    await expect(read(command(half))).rejects.toThrow(/index\.manifest exited with code 3\. Run the command manually/);
    await expect(read({ kind: 'command', command: [path.join(folder, 'none')] })).rejects.toThrow(
      /could not be started/,
    );
    const endless = command('setInterval(() => console.log("{}"), 20)', { timeout_ms: 1000 });
    await expect(read(endless)).rejects.toThrow(/did not finish within 1000 ms/);
  });

  it('is abandoned when the round is aborted', async () => {
    const controller = new AbortController();
    const reading = read(command('setInterval(() => 0, 1000); console.log("{}")'), null, controller.signal);
    controller.abort(new Error('the daemon stops'));
    await expect(reading).rejects.toThrow('the daemon stops');
  });
});

describe('a manifest endpoint', () => {
  let server: FaultServer;
  beforeEach(async () => {
    server = await startFaultServer((request, response) => {
      const cursor = new URL(request.target, 'http://here').searchParams.get('cursor');
      const page = cursor === null ? { items: [{ id: 1 }], next_cursor: 'p2' } : { items: [{ id: `${cursor} x` }] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page));
    });
  });
  afterEach(() => server.close());

  it('is read page by page, and resumed from a cursor', async () => {
    expect((await read({ kind: 'http', url: server.url })).ids).toEqual(['1', 'p2 x']);
    expect((await read({ kind: 'http', url: server.url }, 'p2')).ids).toEqual(['p2 x']);
  });

  it('is rejected without an array of items, with the expected format', async () => {
    server.respondWith((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
    });
    await expect(read({ kind: 'http', url: server.url })).rejects.toThrow(
      /must return {"items": \[...\], "next_cursor"/,
    );
  });
});

describe('a manifest query', () => {
  const url = (): string => {
    const { user, password, host, port, database: name } = database.connection;
    return `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${name}`;
  };

  it('is read completely, through a cursor', async () => {
    const query = `select i as id, timestamptz '2026-01-31 12:00Z' as updated_at from generate_series(1, 12000) i;`;
    expect((await read({ kind: 'sql', url: url(), query })).ids).toHaveLength(12_000);
  });

  it('cannot write, and reports failures by their code', async () => {
    await database.pool.query('create table kept (id integer)');
    const writes = read({
      kind: 'sql',
      url: url(),
      query: 'with x as (insert into kept values (1) returning id) select id from x',
    });
    await expect(writes).rejects.toThrow(
      /The query of pipelines\[0\]\.index\.manifest failed \(\w{5}\)\. Run the query manually/,
    );
    await expect(read({ kind: 'sql', url: url(), query: 'select secret from nowhere' })).rejects.toThrow(/42P01/);
  });
});
