/**
 * Reads and inflates all request bodies, and counts them against the memory budget for all in-flight requests. A body
 * is read only after the API key has been checked (authentication.ts). Small JSON bodies are parsed. For routes that
 * can process a body in pieces, a large body is not joined.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { createGunzip, type Gunzip } from 'node:zlib';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RecalldError } from '../../core/errors.ts';
import { JsonBeyondLimit, parseBoundedJson } from '../../core/text/json.ts';
import { findJsonFault } from '../../core/text/loose-json.ts';
import { validKeyOf } from '../access/pipeline-access.ts';

/** The memory budget shared by all callers, in bytes: in-flight requests, and connections without a key. */
export type MemoryBudget = ReturnType<typeof createMemoryBudget>;

/**
 * Limit for all callers without a valid key together. It is at most half of the budget; the rest is reserved for
 * callers with a key.
 */
const MAX_KEYLESS_BYTES = 64 * 1024 * 1024;

export function createMemoryBudget(maxBytes: number) {
  const maxKeyless = Math.min(MAX_KEYLESS_BYTES, maxBytes / 2);
  let all = 0;
  let keyless = 0;
  let highest = 0;
  return {
    /** Reserves bytes, or returns the limit that they would exceed. */
    take(bytes: number, isKeyless: boolean): 'taken' | 'exhausted' | 'keyless share exhausted' {
      if (all + bytes > maxBytes) return 'exhausted';
      if (isKeyless && keyless + bytes > maxKeyless) return 'keyless share exhausted';
      all += bytes;
      if (isKeyless) keyless += bytes;
      if (all > highest) highest = all;
      return 'taken';
    },
    giveBack(bytes: number, isKeyless: boolean): void {
      all -= bytes;
      if (isKeyless) keyless -= bytes;
    },
    /** Returns the peak number of reserved bytes since the last call. */
    peak(): number {
      const peak = highest;
      highest = all;
      return peak;
    },
  };
}

/** Bytes that each piece adds to the memory estimate, because a body may arrive in pieces of one byte. */
const PIECE_BYTES = 512;
/** Memory needed to inflate a body. */
const INFLATING_BYTES = 64 * 1024;

/**
 * If a body was not read to its end, its connection stays open only for a declared length (`Content-Length`) of at most
 * this number of bytes. Without a declared length, the connection is closed.
 */
const MAX_DRAINED_BYTES = 32 * 1024 * 1024;

/** Callback that receives either an error or the pieces of the body. */
type OnPieces = (error: Error | null, pieces: readonly Buffer[]) => void;

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes reserved for this request; null if none. */
    heldBytes: { bytes: number; readonly isKeyless: boolean } | null;
  }
}

export interface RequestBodies {
  /**
   * Returns the request body in decompressed pieces; an empty list if there is no body. The bytes are reserved until
   * the response is sent.
   *
   * @param limit in bytes, after inflation
   * @throws RecalldError body_too_large, body_unreadable; overloaded when the budget is exhausted
   */
  read(request: FastifyRequest, limit: number): Promise<readonly Buffer[]>;
  /** Like `read`, with a callback that is called once. */
  collect(request: FastifyRequest, limit: number, done: OnPieces): void;
  /** Reserves bytes for a body that another parser reads. @throws RecalldError overloaded */
  hold(request: FastifyRequest, bytes: number): void;
}

/** Removes Fastify's parsers: every body under `app` is read through the returned functions. */
export function addRequestBodies(app: FastifyInstance, budget: MemoryBudget): RequestBodies {
  app.removeAllContentTypeParsers();
  // No DELETE route accepts a body, but many clients declare one.
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });

  app.decorateRequest('heldBytes', null);

  const hold: RequestBodies['hold'] = (request, bytes) => {
    const own = request.heldBytes ?? { bytes: 0, isKeyless: validKeyOf(request) === null };
    const outcome = budget.take(bytes, own.isKeyless);
    if (outcome !== 'taken') {
      const whose = outcome === 'exhausted' ? '' : ' without an API key';
      const message = `Too many requests${whose} are running; send this one again later.`;
      throw new RecalldError('overloaded', message);
    }
    own.bytes += bytes;
    request.heldBytes = own;
  };

  // Drains the unread part of a body, so that the sender reads the response. Closes the connection instead if that part
  // is long, because draining a body in pieces of one byte takes a second per megabyte.
  const giveBack = (request: FastifyRequest): void => {
    const own = request.heldBytes;
    if (own !== null) budget.giveBack(own.bytes, own.isKeyless);
    request.heldBytes = null;
  };
  app.addHook('onSend', (request, reply, _payload, done) => {
    const { raw } = request;
    if (!raw.complete) {
      const isLong = raw.headers['transfer-encoding'] !== undefined || lengthOf(raw) > MAX_DRAINED_BYTES;
      if (isLong) reply.header('connection', 'close');
    }
    // Runs when the response is ready, even if the caller has disconnected, because the body is in use until then.
    giveBack(request);
    done();
  });

  const begin: RequestBodies['collect'] = (request, limit, done) => {
    const { headers, raw } = request;
    const isGzip = isCompressed(headers['content-encoding']);
    if (lengthOf(raw) > limit) throw tooLarge(limit, '');
    if (isGzip) hold(request, INFLATING_BYTES);
    collect(raw, isGzip ? createGunzip() : null, limit, (bytes) => hold(request, bytes), done);
  };
  return {
    hold,
    collect(request, limit, done) {
      try {
        begin(request, limit, done);
      } catch (error) {
        done(error as Error, []);
      }
    },
    read: (request, limit) =>
      new Promise((resolve, reject) => {
        begin(request, limit, (error, pieces) => (error === null ? resolve(pieces) : reject(error)));
      }),
  };
}

/**
 * Collects the pieces of a body. Listens to both streams until they are destroyed, because one may fail after the
 * other, and a stream may fail even after it has ended.
 *
 * @param hold reserves the bytes of each piece before the piece is stored, and may throw
 */
function collect(
  raw: IncomingMessage,
  gunzip: Gunzip | null,
  limit: number,
  hold: (bytes: number) => void,
  done: OnPieces,
): void {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let isOver = false;
  const fail = (error: Error): void => {
    if (isOver) return;
    isOver = true;
    pieces = [];
    if (gunzip !== null) raw.unpipe(gunzip);
    gunzip?.destroy();
    // Drains the rest of the body.
    raw.resume();
    done(error, []);
  };
  const take = (piece: Buffer): void => {
    if (isOver) return;
    bytes += piece.length;
    if (bytes > limit) return fail(tooLarge(limit, gunzip === null ? '' : ' after inflation'));
    try {
      hold(piece.length + PIECE_BYTES);
    } catch (error) {
      return fail(error as Error);
    }
    pieces.push(piece);
  };
  raw
    .on('error', () => fail(unreadable('The request ended in the middle of its body.')))
    .on('close', () => {
      if (!raw.readableEnded) fail(unreadable('The request ended in the middle of its body.'));
    });
  gunzip?.on('error', () => fail(unreadable('The body is not valid gzip.')));
  (gunzip === null ? raw : raw.pipe(gunzip)).on('data', take).on('end', () => {
    if (isOver) return;
    isOver = true;
    const all = pieces;
    // Releases the pieces, because the request outlives this callback and keeps this closure in memory.
    pieces = [];
    done(null, all);
  });
}

/**
 * True if the `Content-Encoding` is gzip. An empty value means identity, and `x-gzip` means gzip (RFC 9110, 8.4.1.3).
 *
 * @throws RecalldError body_unreadable for any other encoding
 */
function isCompressed(header: string | undefined): boolean {
  const encodings = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'identity');
  if (encodings.length === 0) return false;
  if (encodings.length === 1 && /^(x-)?gzip$/.test(encodings[0] ?? '')) return true;
  const named = encodings.join(', ').slice(0, 100);
  throw unreadable(
    `Content-Encoding ${named} is not supported; send gzip or no encoding. For OpenTelemetry, set OTEL_EXPORTER_OTLP_COMPRESSION=gzip, or compression: gzip in the otlphttp exporter of a Collector.`,
  );
}

/** Returns the declared body length; 0 if none is declared. */
function lengthOf({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0);
}

function unreadable(message: string): RecalldError {
  return new RecalldError('body_unreadable', message);
}

function tooLarge(limit: number, when: string): RecalldError {
  return new RecalldError('body_too_large', `The body has more than ${limit} bytes${when}; send smaller batches.`);
}

/** Maximum body size, enough for the JSON text of a thousand queries, each with a vector of 1,536 numbers. */
const LIMIT_BYTES = 32 * 1024 * 1024;

/** Size above which a body is parsed in a worker thread; parsing 1 MB of numbers takes about 10 ms. */
export const SMALL_BYTES = 1024 * 1024;

/**
 * Bytes of memory that parsing adds per byte of JSON: text, values, and the rows made from them. The factor applies
 * only to the first SMALL_BYTES of a body, because a larger body has few small values or comes from the daemon's
 * operator.
 */
const PARSED_BYTES = 6;

/** A body that is too large to parse in the main thread: joining its pieces alone can take 20 ms. */
export class LargeBody {
  /** The pieces of the body. A reader removes each piece after reading it. */
  readonly pieces: Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.pieces = [...pieces];
  }
}

/**
 * Parses JSON bodies for the routes in `app`; an empty body becomes undefined.
 *
 * @param maxParsed maximum size in bytes of a body that is parsed; a larger body becomes a `LargeBody`
 */
export function acceptJson(app: FastifyInstance, bodies: RequestBodies, maxParsed = LIMIT_BYTES): void {
  app.removeAllContentTypeParsers();
  // Uses callbacks, because a promise adds cost to every request.
  app.addContentTypeParser('application/json', (request: FastifyRequest, _payload, done) => {
    bodies.collect(request, LIMIT_BYTES, (error, pieces) => {
      if (error !== null) return done(error);
      let body: unknown;
      try {
        let bytes = 0;
        for (const { length } of pieces) bytes += length;
        if (bytes > maxParsed) return done(null, new LargeBody(pieces));
        bodies.hold(request, PARSED_BYTES * Math.min(bytes, SMALL_BYTES));
        body = parsed(pieces);
      } catch (failure) {
        return done(failure as Error);
      }
      done(null, body);
    });
  });
}

/**
 * Parses a JSON body. Keys that could pollute prototypes need no check here, because route schemas accept only the keys
 * that they define.
 */
function parsed(pieces: readonly Buffer[]): unknown {
  const [first] = pieces;
  if (first === undefined) return undefined;
  const bytes = pieces.length === 1 ? first : Buffer.concat(pieces);
  if (!isUtf8(bytes)) throw notUtf8();
  return parseJson(bytes.toString('utf8'));
}

/** Returns the error for a body that is not UTF-8. Decoding such a body as UTF-8 would corrupt its ids and strings. */
export function notUtf8(): RecalldError {
  return unreadable(
    'The body is not UTF-8; encode the JSON as UTF-8, or send Content-Encoding: gzip if it is compressed.',
  );
}

/** @throws RecalldError body_unreadable, without the parser's message, which quotes the body */
export function parseJson(text: string): unknown {
  // Some clients send a byte order mark, which JSON.parse refuses.
  const json = text.startsWith('\ufeff') ? text.slice(1) : text;
  try {
    return parseBoundedJson(json);
  } catch (error) {
    if (error instanceof JsonBeyondLimit)
      throw new RecalldError('body_unreadable', `The body ${error.problem}; see /openapi.json.`);
    throw new RecalldError('body_unreadable', faultText(json) ?? 'The body must be valid JSON.');
  }
}

/** Returns a message with the position of the first JSON error in a body; null for valid JSON. */
export function faultText(json: string): string | null {
  const fault = findJsonFault(json);
  if (fault === null) return null;
  const { line, column, path, problem } = fault;
  const place = path === '' ? '' : `, at ${path}`;
  return `The body is not valid JSON: line ${line}, column ${column}${place} has ${problem}.`;
}
