import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { waitFor } from '../../support/wait-for.ts';
import { hang, startRecordingDaemon } from './recording-daemon.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const folder = path.join(root, 'src/client');
const readme = readFileSync(path.join(root, 'README.md'), 'utf8');

/** Starts a Node.js process; if the process is still running when the test ends, it is killed. */
function startNode(args: readonly string[]): ChildProcess & { readonly lines: string[] } {
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'pipe' });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  child.stderr.on('data', (chunk: Buffer) => lines.push(chunk.toString('utf8')));
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  });
  return Object.assign(child, { lines });
}

/** Starts a host process that uses the client. */
function startHost(source: string) {
  const host = `import { createClient } from ${JSON.stringify(path.join(folder, 'client.ts'))};\n${source}`;
  return startNode(['--import', 'tsx', '--input-type=module', '--eval', host]);
}

/** Waits until a process ends, and returns its exit code and output. */
async function endOf(child: ChildProcess & { readonly lines: readonly string[] }) {
  const [code] = (await once(child, 'close')) as [unknown];
  return { code, lines: child.lines };
}

const trackTo = (url: string) => `
  const client = createClient({ url: '${url}', pipeline: 'p', batchSize: 2, timeoutMs: 60_000 });
  for (let i = 0; i < 100; i++) client.track({ text: 'x'.repeat(1000), results: ['a'] });`;

describe('a host process that ends', () => {
  it('delivers everything and prints nothing', async () => {
    const daemon = await startRecordingDaemon();
    const host = startHost(`
      const client = createClient({ url: '${daemon.url}', pipeline: 'p' });
      for (let i = 0; i < 60; i++) client.track({ id: 'q-' + i, results: ['a'] });
      client.feedback({ queryId: 'q-1', kind: 'thumb', value: 'up' });`);
    expect(await endOf(host)).toEqual({ code: 0, lines: [] });
    expect(daemon.items('/v1/queries')).toHaveLength(60);
    expect(daemon.items('/v1/feedback')).toHaveLength(1);
  }, 30_000);

  it('delivers the items that the README snippet tracks', async () => {
    const daemon = await startRecordingDaemon();
    const [, snippet = ''] = /```js\n(import \{ createClient \}[\s\S]*?)```/.exec(readme) ?? [];
    const source = snippet.replace(/^import .*$/m, '').replace('http://127.0.0.1:8321', daemon.url);
    expect(await endOf(startHost(`const question = 'How do I reset it?';\n${source}`))).toEqual({ code: 0, lines: [] });
    expect(daemon.items('/v1/queries')).toMatchObject([{ text: 'How do I reset it?' }]);
    expect(daemon.items('/v1/feedback')).toHaveLength(1);
  }, 30_000);

  it('waits briefly for a daemon that is down, and reports what was not delivered', async () => {
    const host = startHost(trackTo('http://127.0.0.1:9'));
    const { code, lines } = await endOf(host);
    expect(code).toBe(0);
    expect(lines.join('')).toMatch(/^recalld: 100 queries and 0 feedback items were not delivered: .*\.\n$/);
  }, 30_000);

  it('does not wait for a daemon that never answers, and reports what was not delivered', async () => {
    const daemon = await startRecordingDaemon(hang());
    const { code, lines } = await endOf(startHost(trackTo(daemon.url)));
    expect(code).toBe(0);
    expect(lines.join('')).toContain('recalld: 100 queries and 0 feedback items were not delivered');
  }, 30_000);

  it('reports what was not delivered if it calls process.exit', async () => {
    const daemon = await startRecordingDaemon();
    const host = startHost(`${trackTo(daemon.url)}\nprocess.exit(3);`);
    expect(await endOf(host)).toEqual({
      code: 3,
      lines: [
        'recalld: 100 queries and 0 feedback items were not delivered: the process ended before they were sent.\n',
      ],
    });
  }, 30_000);

  it('is notified of each drop if it set onDrop', async () => {
    const host = startHost(`
      const client = createClient({ url: 'http://127.0.0.1:9', pipeline: 'p', onDrop: ({ what, reason, count }) => console.log(what, reason, count) });
      client.track({ results: ['a'] });`);
    expect(await endOf(host)).toEqual({ code: 0, lines: ['queries closed 1'] });
  }, 30_000);

  it('delivers everything if it closes the client first', async () => {
    const daemon = await startRecordingDaemon();
    const host = startHost(`
      const client = createClient({ url: '${daemon.url}', pipeline: 'p' });
      for (let i = 0; i < 250; i++) client.track({ id: 'q-' + i, results: ['a'], embedding: new Float32Array(1536).fill(0.1) });
      console.log(JSON.stringify(await client.close()));`);
    expect(await endOf(host)).toEqual({ code: 0, lines: ['{"sent":250,"pending":0}'] });
    expect(daemon.items('/v1/queries')).toHaveLength(250);
  }, 30_000);
});

/** Source code of a process that responds with 202 and prints the received ids. */
const daemonSource = `
  import { createServer } from 'node:http';
  import { gunzipSync } from 'node:zlib';
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const items = JSON.parse(request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes);
      response.writeHead(202).end('{}', () => console.log(JSON.stringify(items.map(({ id }) => id))));
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

it('the client limits its queue while the daemon is frozen, and delivers once the daemon continues', async () => {
  const daemon = startNode(['--input-type=module', '--eval', daemonSource]);
  const port = await waitFor(() => daemon.lines[0]);
  daemon.kill('SIGSTOP');

  const client = createClient({
    url: `http://127.0.0.1:${port}`,
    pipeline: 'p',
    batchSize: 50,
    maxQueue: 500,
    timeoutMs: 150,
  });
  onTestFinished(async () => void (await client.close({ timeoutMs: 0 })));
  for (let i = 0; i < 50; i++) client.track({ id: `q-${i}`, results: ['a'] });
  await waitFor(() => client.stats().queries.retries >= 2);
  expect(client.stats().queries.lastError).toBe('no response within 150 ms');
  for (let i = 50; i < 5000; i++) {
    client.track({ id: `q-${i}`, results: ['a'] });
    expect(client.stats().queries.pending).toBeLessThanOrEqual(500);
  }
  expect(client.stats().queries).toMatchObject({
    offered: 5000,
    pending: 500,
    dropped: { overflow: 4500 },
    sent: 0,
  });

  daemon.kill('SIGCONT');
  expect(await client.flush({ timeoutMs: 60_000 })).toEqual({ sent: 500, pending: 0 });
  const expected = [...Array.from({ length: 50 }, (_, i) => i), ...Array.from({ length: 450 }, (_, i) => 4550 + i)];
  await waitFor(() => {
    const received = daemon.lines.slice(1).flatMap((line) => JSON.parse(line) as string[]);
    expect([...new Set(received)]).toEqual(expected.map((i) => `q-${i}`));
    return true;
  });
}, 90_000);

describe('the source of the client', () => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));

  it('imports only its own folder, the content id of documents, and modules built into Node.js, Bun and Deno', () => {
    const imported = files.flatMap((file) =>
      [...readFileSync(path.join(folder, file), 'utf8').matchAll(/\b(?:from|import)\s*\(?'([^']+)'/g)].map(
        ([, name]) => name,
      ),
    );
    expect(imported.length).toBeGreaterThan(20);
    expect(
      imported.filter((name) => !/^(\.\/[\w-]+\.ts|\.\.\/core\/text\/content-id\.ts|node:[\w/]+)$/.test(name ?? '')),
    ).toEqual([]);
  });

  it('uses only language features of Node.js 18', async () => {
    const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
    const options =
      '--noEmit --target es2022 --lib es2022 --module nodenext --types node --strict --skipLibCheck --allowImportingTsExtensions --ignoreConfig';
    const child = startNode([compiler, ...options.split(' '), ...files.map((file) => path.join(folder, file))]);
    expect(await endOf(child)).toEqual({ code: 0, lines: [] });
  }, 60_000);
});
