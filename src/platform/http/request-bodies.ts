/**
 * The bodies of requests. Here, and nowhere else, they are read, inflated and counted: after the key was looked at
 * (authentication.ts), by the parser of a route that takes one, and within what all bodies under way may hold
 * together. Small JSON bodies are parsed, large ones stay in the pieces in which they came where a route asks for it.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { createGunzip, type Gunzip } from 'node:zlib';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RecalldError } from '../../core/errors.ts';
import { JsonBeyondLimit, parseBoundedJson } from '../../core/text/json.ts';
import { findJsonFault, type JsonFault } from '../../core/text/loose-json.ts';
import { hasGoodKey } from '../access/authentication.ts';

/** What all callers together may make the process hold: the bytes of requests under way, and of connections without a key. */
export type MemoryBudget = ReturnType<typeof createMemoryBudget>;

/** Of those who have shown no key, at most so much and at most half of all, which leaves the rest to those who have. */
const MAX_KEYLESS_BYTES = 64 * 1024 * 1024;

export function createMemoryBudget(maxBytes: number) {
  const maxKeyless = Math.min(MAX_KEYLESS_BYTES, maxBytes / 2);
  let all = 0;
  let keyless = 0;
  let most = 0;
  return {
    /** Counts so many bytes more, unless they are too many; then it says whose share is used up. */
    take(bytes: number, isKeyless: boolean): 'taken' | 'all is held' | 'the keyless share is held' {
      if (all + bytes > maxBytes) return 'all is held';
      if (isKeyless && keyless + bytes > maxKeyless) return 'the keyless share is held';
      all += bytes;
      if (isKeyless) keyless += bytes;
      if (all > most) most = all;
      return 'taken';
    },
    giveBack(bytes: number, isKeyless: boolean): void {
      all -= bytes;
      if (isKeyless) keyless -= bytes;
    },
    /** The most bytes that were held at once since this was last asked. */
    peak(): number {
      const peak = most;
      most = all;
      return peak;
    },
  };
}

/** What a piece takes beside its bytes: a body may come in pieces of one byte. */
const PIECE_BYTES = 512;
/** What it takes to inflate a body. */
const INFLATING_BYTES = 64 * 1024;

/** What nobody reads of a body before its connection is closed. */
const MAX_DRAINED_BYTES = 32 * 1024 * 1024;

/** Told of what failed, or of the pieces. */
type OnPieces = (error: Error | null, pieces: readonly Buffer[]) => void;

declare module 'fastify' {
  interface FastifyRequest {
    /** What its body takes of the budget; null while nothing does. */
    heldBytes: { bytes: number; readonly isKeyless: boolean } | null;
  }
}

export interface RequestBodies {
  /**
   * The body of a request without its compression, in pieces; none when there is no body. What they take is counted
   * until the answer is made.
   *
   * @param limit in bytes, after inflation
   * @throws RecalldError body_too_large, body_unreadable; overloaded when too much is under way already
   */
  read(request: FastifyRequest, limit: number): Promise<readonly Buffer[]>;
  /** The same by a callback, which is told once. */
  collect(request: FastifyRequest, limit: number, done: OnPieces): void;
  /** Counts what another parser may take for a body. @throws RecalldError overloaded */
  hold(request: FastifyRequest, bytes: number): void;
}

/** Takes away the parsers of Fastify: what reads a body under `app` reads it through this. */
export function addRequestBodies(app: FastifyInstance, budget: MemoryBudget): RequestBodies {
  app.removeAllContentTypeParsers();
  // Nothing that we delete is told in a body, but many clients announce one.
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });

  app.decorateRequest('heldBytes', null);

  const hold: RequestBodies['hold'] = (request, bytes) => {
    const own = request.heldBytes ?? { bytes: 0, isKeyless: !hasGoodKey(request) };
    const outcome = budget.take(bytes, own.isKeyless);
    if (outcome !== 'taken') {
      const whose = outcome === 'all is held' ? '' : ' without an API key';
      const message = `More requests${whose} are under way than can be held; send this one again later.`;
      throw new RecalldError('overloaded', message);
    }
    own.bytes += bytes;
    request.heldBytes = own;
  };

  // What is left of a body is thrown away, so that its sender reads the answer, unless that costs more than the answer is
  // worth: in pieces of a byte each megabyte takes a second.
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
    // When the answer is made, also when the caller has gone: until then somebody works on the body.
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
 * Listens to both streams for as long as they live: either may fail after the other, and after its end.
 *
 * @param hold is told of each piece before it is kept, and may throw
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
    // What still comes is thrown away.
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
    // The request lives on, and holds what it listens with.
    pieces = [];
    done(null, all);
  });
}

/**
 * Whether a body is gzip, by its `Content-Encoding`: an empty one says nothing, and `x-gzip` is gzip (RFC 9110, 8.4.1.3).
 *
 * @throws RecalldError body_unreadable for another encoding
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
    `Content-Encoding ${named} is not understood; send gzip or no encoding. An exporter of OpenTelemetry does with OTEL_EXPORTER_OTLP_COMPRESSION=gzip, the exporter otlphttp of a Collector with compression: gzip.`,
  );
}

/** As it was announced; 0 when it was not. */
function lengthOf({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0);
}

function unreadable(message: string): RecalldError {
  return new RecalldError('body_unreadable', message);
}

function tooLarge(limit: number, when: string): RecalldError {
  return new RecalldError('body_too_large', `The body has more than ${limit} bytes${when}; send smaller batches.`);
}

/** Holds a thousand queries with vectors of 1,536 numbers as text. */
const LIMIT_BYTES = 32 * 1024 * 1024;

/** A larger body is read in a thread: one of numbers as text so large takes some ten milliseconds. */
const SMALL_BYTES = 1024 * 1024;

/**
 * What a byte of JSON becomes until the answer is made, beside itself: its text, the values in it, and the rows made of
 * them. What is larger than a small body is no list of small values, or it is sent by those who operate the daemon.
 */
const PARSED_BYTES = 6;

/** A body that would hold up the main thread; to join its pieces alone can take twenty milliseconds. */
export class LargeBody {
  /** Who reads them one after the other takes them out. */
  readonly pieces: Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.pieces = [...pieces];
  }
}

/** Gives the routes of `app` a parsed body, or undefined for an empty one. */
export function acceptJson(app: FastifyInstance, bodies: RequestBodies): void {
  accept(app, bodies, LIMIT_BYTES);
}

/** Likewise, or a `LargeBody`. */
export function acceptLargeJson(app: FastifyInstance, bodies: RequestBodies): void {
  accept(app, bodies, SMALL_BYTES);
}

/** @param mostParsed bytes; a body of more is left in its pieces */
function accept(app: FastifyInstance, bodies: RequestBodies, mostParsed: number): void {
  app.removeAllContentTypeParsers();
  // By callbacks, since each promise costs every request.
  app.addContentTypeParser('application/json', (request: FastifyRequest, _payload, done) => {
    bodies.collect(request, LIMIT_BYTES, (error, pieces) => {
      if (error !== null) return done(error);
      let body: unknown;
      try {
        let bytes = 0;
        for (const { length } of pieces) bytes += length;
        if (bytes > mostParsed) return done(null, new LargeBody(pieces));
        bodies.hold(request, PARSED_BYTES * Math.min(bytes, SMALL_BYTES));
        body = parsed(pieces);
      } catch (failure) {
        return done(failure as Error);
      }
      done(null, body);
    });
  });
}

/** Keys that poison prototypes are refused by the schemas of the routes, which take none but their own. */
function parsed(pieces: readonly Buffer[]): unknown {
  const [first] = pieces;
  if (first === undefined) return undefined;
  const bytes = pieces.length === 1 ? first : Buffer.concat(pieces);
  if (!isUtf8(bytes)) throw notUtf8();
  return parseJson(bytes.toString('utf8'));
}

/** What is read as if it were UTF-8 would be stored under other ids and texts than were sent. */
export function notUtf8(): RecalldError {
  return unreadable(
    'The body is not UTF-8, as JSON has to be; encode it so, or say Content-Encoding: gzip if it is gzip.',
  );
}

/** @throws RecalldError body_unreadable, never with the words of the parser, which quote the body */
export function parseJson(text: string): unknown {
  // Some clients begin with the mark of the byte order.
  const json = text.startsWith('\ufeff') ? text.slice(1) : text;
  try {
    return parseBoundedJson(json);
  } catch (error) {
    if (error instanceof JsonBeyondLimit)
      throw new RecalldError('body_unreadable', `The body ${error.problem}; see /openapi.json.`);
    throw new RecalldError('body_unreadable', faultText(json) ?? 'The body must be valid JSON.');
  }
}

/** What is not JSON in a body, and where, as a sentence; null when it is. */
export function faultText(json: string): string | null {
  const fault = findJsonFault(json);
  return fault === null ? null : notJson(fault);
}

function notJson({ line, column, path, problem }: JsonFault): string {
  const place = path === '' ? '' : `, at ${path}`;
  return `The body is not valid JSON: line ${line}, column ${column}${place} has ${problem}.`;
}
