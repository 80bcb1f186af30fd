/** JSON bodies: small ones are parsed, large ones stay in the pieces in which they came. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { errorCodes, type FastifyInstance } from 'fastify';
import { parseJson } from '../contracts/http/items.ts';

/** A larger body is read in a thread: one of numbers as text so large takes some ten milliseconds. */
const SMALL_BYTES = 1024 * 1024;

/** A body that would hold up the main thread; to join its pieces alone can take twenty milliseconds. */
export class LargeBody {
  readonly pieces: readonly Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.pieces = pieces;
  }
}

/** Gives the routes of `app` a parsed body or a `LargeBody`; `limit` is in bytes. */
export function acceptLargeJson(app: FastifyInstance, limit: number): void {
  app.addContentTypeParser('application/json', (request, payload, done) => {
    if (Number(request.headers['content-length']) > limit) {
      done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
      return;
    }
    collect(payload, limit, (error, pieces, bytes) => {
      if (error !== null) done(error);
      else if (bytes > SMALL_BYTES) done(null, new LargeBody(pieces));
      else parseSmall(pieces, done);
    });
  });
}

/** Keys that poison prototypes are refused by the schemas of the routes, which take none but their own. */
function parseSmall(pieces: readonly Buffer[], done: (error: Error | null, body?: unknown) => void): void {
  let body: unknown;
  try {
    body = parseJson(textOf(pieces));
  } catch (error) {
    done(error as Error);
    return;
  }
  done(null, body);
}

function textOf(pieces: readonly Buffer[]): string {
  const decoder = new StringDecoder('utf8');
  return pieces.map((piece) => decoder.write(piece)).join('') + decoder.end();
}

function collect(
  payload: Readable,
  limit: number,
  done: (error: Error | null, pieces: readonly Buffer[], bytes: number) => void,
): void {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let isOver = false;
  const end = (error: Error | null): void => {
    if (isOver) return;
    isOver = true;
    payload.off('data', take).off('end', finish);
    done(error, pieces, bytes);
  };
  const take = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes > limit) end(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
    else pieces.push(piece);
  };
  const finish = (): void => end(null);
  // Most often a caller who went away; nothing of ours has failed. It may come after the end, too.
  const fail = (error: Error): void => end(Object.assign(error, { statusCode: 400 }));
  payload.on('data', take).on('end', finish).on('error', fail);
}
