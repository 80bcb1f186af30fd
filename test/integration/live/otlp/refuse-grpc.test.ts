import { connect } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { fastify } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { createClientErrorHandler } from '../../../../src/live/otlp/refuse-grpc.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';

async function aServer() {
  const logger = new MemoryLogger();
  const seen = { grpc: 0 };
  const onGrpc = () => void (seen.grpc += 1);
  const app = fastify({ clientErrorHandler: createClientErrorHandler(logger, onGrpc) });
  app.get('/', () => 'here');
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return { url, logger, seen };
}

/** Returns the GOAWAY text that an OTLP exporter over gRPC receives. */
async function exportOverGrpc(url: string): Promise<string> {
  const session = connect(url);
  onTestFinished(() => session.destroy());
  const goaway = new Promise<string>((resolve) =>
    session.once('goaway', (_code, _stream, text) => resolve(Buffer.from(text ?? '').toString('utf8'))),
  );
  session.on('error', () => undefined);
  const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
  const call = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  call.on('error', () => undefined);
  call.end(Buffer.alloc(70_000));
  return goaway;
}

it('the server tells a gRPC exporter which setting to change, and logs the mistake once', async () => {
  const { url, logger, seen } = await aServer();
  expect(await exportOverGrpc(url)).toContain('OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf');
  expect(await exportOverGrpc(url)).toContain('OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf');
  expect(logger.lines.map(({ message }) => message)).toEqual(['an exporter uses gRPC on this port']);
  expect(seen.grpc).toBe(2);
  expect(await (await fetch(url)).text()).toBe('here');
});

it('the server returns status 400 for bytes that are not HTTP', async () => {
  const { url } = await aServer();
  const socket = connectTcp(Number(new URL(url).port), '127.0.0.1');
  const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString('latin1'))));
  socket.on('error', () => undefined);
  socket.write('HELO there\r\n\r\n');
  expect(await answer).toMatch(/^HTTP\/1\.1 400 /);
});
