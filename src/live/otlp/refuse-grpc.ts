/**
 * Responds to clients that do not use HTTP/1.1. An OTLP exporter that uses gRPC speaks HTTP/2, which recalld does not
 * support. The response is an HTTP/2 GOAWAY frame, because its text is the only error that gRPC libraries show.
 */
import type { Socket } from 'node:net';
import type { Logger } from '../../core/logger.ts';
import { GRPC_FIX } from '../rules/otel/unreadable-retriever.ts';

const SETTINGS = 0x4;
const GOAWAY = 0x7;
/** Error code that asks the client to use HTTP/1.1. */
const HTTP_1_1_REQUIRED = 0xd;

/** Builds a frame without flags on stream 0. Source: RFC 9113, section 4.1. */
function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  return Buffer.concat([head, payload]);
}

/** Builds the server preface and a GOAWAY frame with the reason as text. Source: RFC 9113, sections 3.4 and 6.8. */
function refusal(): Buffer {
  const codes = Buffer.alloc(8);
  codes.writeUInt32BE(HTTP_1_1_REQUIRED, 4);
  return Buffer.concat([
    frame(SETTINGS, Buffer.alloc(0)),
    frame(GOAWAY, Buffer.concat([codes, Buffer.from(GRPC_FIX)])),
  ]);
}

const statuses: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

/**
 * Creates a `clientError` handler that logs gRPC clients only once, because a failing exporter retries forever.
 *
 * @param onGrpc called for each connection over gRPC
 */
export function createClientErrorHandler(
  logger: Logger,
  onGrpc: () => void,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  let isLogged = false;
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    if (error.code !== 'HPE_PAUSED_H2_UPGRADE') {
      const status = statuses[error.code ?? ''] ?? '400 Bad Request';
      socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      socket.destroy();
      return;
    }
    if (!isLogged) logger.warn('an exporter uses gRPC on this port', { fix: GRPC_FIX });
    isLogged = true;
    onGrpc();
    // Reads and discards the rest of the request. Closing a socket with unread bytes would discard the response.
    socket.resume();
    socket.end(refusal());
    socket.setTimeout(1000, () => socket.destroy());
  };
}
