/**
 * What is answered to bytes that are no HTTP/1.1. An exporter of OTLP over gRPC begins with HTTP/2, which recalld does not
 * speak: it is told so in frames of HTTP/2, since gRPC libraries show the text of a GOAWAY and of nothing else.
 */
import type { Socket } from 'node:net';
import type { Logger } from '../../core/logger.ts';

const SENTENCE =
  'recalld takes OTLP over HTTP, not over gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and point the exporter at this port.';

const SETTINGS = 0x4;
const GOAWAY = 0x7;
/** The error code by which a server asks for HTTP/1.1. */
const HTTP_1_1_REQUIRED = 0xd;

/** A frame of the connection itself, without flags. Source: RFC 9113, section 4.1. */
function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  return Buffer.concat([head, payload]);
}

/** No stream was taken; the reason stands in words. Source: RFC 9113, sections 3.4 and 6.8. */
function refusal(): Buffer {
  const codes = Buffer.alloc(8);
  codes.writeUInt32BE(HTTP_1_1_REQUIRED, 4);
  return Buffer.concat([
    frame(SETTINGS, Buffer.alloc(0)),
    frame(GOAWAY, Buffer.concat([codes, Buffer.from(SENTENCE)])),
  ]);
}

const statuses: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

/** For `clientError` of a server. The log is told of gRPC once, since an exporter that fails tries again for ever. */
export function createClientErrorHandler(
  logger: Pick<Logger, 'warn'>,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  let isTold = false;
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
    if (!isTold) logger.warn('an exporter speaks gRPC to this port', { way_out: SENTENCE });
    isTold = true;
    // What came with the preface is read and dropped: closing over unread bytes would take the answer back.
    socket.resume();
    socket.end(refusal());
    socket.setTimeout(1000, () => socket.destroy());
  };
}
