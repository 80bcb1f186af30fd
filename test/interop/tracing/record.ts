/** Installs a tracing program and its instrumentation from PyPI or npm, runs it, and records its exports. */
import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { npmFolder } from '../npm-folder.ts';
import { virtualEnvironment, workshop } from '../virtual-environment.ts';
import type { Combination } from './combinations.ts';
import { startFakeLlm } from './fake-llm.ts';
import type { ExportRequest, Recording } from './recording.ts';

const run = promisify(execFile);

/** Runs the newest versions of a combination. The first run installs these versions, which takes a minute. */
export async function record(combination: Combination): Promise<Recording> {
  const {
    name,
    framework,
    instrumentation,
    switchedOn,
    missing = [],
    tools = [],
    reason,
    language,
    program,
    tracing,
    packages,
    extras = [],
    env = {},
  } = combination;
  const installed = [...packages, ...extras];
  const [interpreter, folder] =
    language === 'javascript'
      ? [process.execPath, await npmFolder(installed)]
      : [await virtualEnvironment(installed), workshop];
  const programs = path.join(folder, 'programs');
  await cp(path.join(import.meta.dirname, language ?? 'python'), programs, { recursive: true });
  const [llm, receiver] = await Promise.all([startFakeLlm(), startReceiver()]);
  try {
    const { stdout } = await run(
      interpreter,
      [language === 'javascript' ? 'main.mjs' : 'main.py', program, tracing, ...packages],
      {
        cwd: programs,
        env: {
          PATH: process.env['PATH'],
          HOME: workshop,
          OPENAI_API_KEY: 'none',
          OPENAI_BASE_URL: llm.url,
          OTEL_SERVICE_NAME: name,
          OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
          OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
          ...env,
        },
        maxBuffer: 1e8,
      },
    );
    const date = new Date().toISOString().slice(0, 10);
    return {
      name,
      framework,
      instrumentation,
      switchedOn,
      missing,
      ...(tools.length === 0 ? {} : { tools }),
      ...(reason === undefined ? {} : { reason }),
      date,
      ...(JSON.parse(stdout) as Pick<Recording, 'runtime' | 'versions' | 'retrievals'>),
      requests: receiver.requests,
    };
  } finally {
    llm.close();
    receiver.close();
  }
}

/**
 * Replaces the path of the home folder in a body, for example in stack traces, with a string of the same length, so
 * that the body's encoding remains valid.
 */
function withoutHome(body: Buffer, encoding: string | undefined): Buffer {
  const home = homedir();
  const other = '/home'.padEnd(home.length, 'x').slice(0, home.length);
  const plain = encoding === 'gzip' ? gunzipSync(body) : body;
  const replaced = Buffer.from(plain.toString('latin1').replaceAll(`${home}/`, `${other}/`), 'latin1');
  return encoding === 'gzip' ? gzipSync(replaced) : replaced;
}

/** Starts an OTLP endpoint that stores the requests that it receives. */
export async function startReceiver() {
  const requests: ExportRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({
        path: request.url ?? '',
        contentType: request.headers['content-type'] ?? '',
        contentEncoding: request.headers['content-encoding'] ?? 'identity',
        body: withoutHome(Buffer.concat(chunks), request.headers['content-encoding']).toString('base64'),
      });
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
