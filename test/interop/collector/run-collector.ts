/** Runs a Collector with the configuration in deploy/otel-collector, and sends exports to it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:http2';
import path from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { freePort } from '../../support/free-port.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { ExportRequest } from '../tracing/recording.ts';

const run = promisify(execFile);
const config = path.resolve(import.meta.dirname, '../../../deploy/otel-collector/collector.yaml');

export interface RunningCollector {
  readonly version: string;
  /** Sends an export over HTTP as it was recorded, or over gRPC. */
  send(request: ExportRequest, protocol: 'http' | 'grpc'): Promise<void>;
  /** Exports the buffered data, and stops the Collector. */
  stop(): Promise<void>;
}

/** @param binary a Collector with the components that the configuration names, such as the contrib distribution */
export async function startCollector(binary: string, env: Readonly<Record<string, string>>): Promise<RunningCollector> {
  const [grpc, http] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const { stdout } = await run(binary, ['--version']);
  const collector = spawn(binary, ['--config', `file:${config}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env['PATH'], COLLECTOR_GRPC: grpc, COLLECTOR_HTTP: http, ...env },
  });
  await waitFor(async () => (await fetch(`http://${http}/v1/traces`)).status === 405);
  return {
    version: /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? 'unknown',
    send: (request, protocol) => (protocol === 'http' ? overHttp(http, request) : overGrpc(grpc, request)),
    stop: () => end(collector),
  };
}

async function overHttp(address: string, { path: target, contentType, contentEncoding, body }: ExportRequest) {
  const response = await fetch(`http://${address}${target}`, {
    method: 'POST',
    headers: {
      'content-type': contentType,
      // A Collector refuses the encoding name `identity`.
      ...(contentEncoding === 'identity' ? {} : { 'content-encoding': contentEncoding }),
    },
    body: Uint8Array.from(Buffer.from(body, 'base64')),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
}

/** Sends an export in a unary call; its message is the same as over HTTP. */
async function overGrpc(address: string, { path: target, contentEncoding, body }: ExportRequest): Promise<void> {
  const bytes = Buffer.from(body, 'base64');
  const message = contentEncoding === 'gzip' ? gunzipSync(bytes) : bytes;
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const session = connect(`http://${address}`);
  try {
    const service = target === '/v1/logs' ? 'logs.v1.LogsService' : 'trace.v1.TraceService';
    const call = session.request({
      ':method': 'POST',
      ':path': `/opentelemetry.proto.collector.${service}/Export`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const trailers = once(call, 'trailers') as Promise<[Record<string, string>]>;
    call.end(Buffer.concat([prefix, message]));
    call.resume();
    const [status] = await trailers;
    if (status['grpc-status'] !== '0') throw new Error(`${target}: ${JSON.stringify(status)}`);
  } finally {
    session.close();
  }
}

async function end(collector: ChildProcess): Promise<void> {
  const exited = once(collector, 'exit');
  collector.kill('SIGTERM');
  await exited;
}
