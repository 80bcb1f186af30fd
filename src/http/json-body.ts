/** JSON bodies: small ones are parsed, large ones stay in the pieces in which they came where a route asks for it. */
import { StringDecoder } from 'node:string_decoder';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RecalldError } from '../errors.ts';
import { JsonBeyondLimit, parseBoundedJson } from '../text/json.ts';
import type { RequestBodies } from './request-bodies.ts';

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
  readonly pieces: readonly Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.pieces = pieces;
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
  if (pieces.length === 1) return parseJson(first.toString('utf8'));
  const decoder = new StringDecoder('utf8');
  return parseJson(pieces.map((piece) => decoder.write(piece)).join('') + decoder.end());
}

/** @throws RecalldError body_unreadable, never with the words of the parser, which quote the body */
export function parseJson(text: string): unknown {
  try {
    // Some clients begin with the mark of the byte order.
    return parseBoundedJson(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (error) {
    if (error instanceof JsonBeyondLimit)
      throw new RecalldError('body_unreadable', `The body ${error.problem}; see /openapi.json.`);
    throw new RecalldError('body_unreadable', 'The request cannot be read; the body must be valid JSON.');
  }
}
