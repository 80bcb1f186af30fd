/** Bodies that come compressed: inflated as they stream, up to a limit, so that a bomb costs no more than the limit. */
import { type Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { RecalldError } from '../core/errors.ts';

/** Adds gzip to what the routes of `app` understand; `limit` is in bytes after inflation. */
export function acceptGzip(app: FastifyInstance, limit: number): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const encoding = request.headers['content-encoding'];
    if (encoding === undefined || encoding === 'identity') return done(null, payload);
    if (encoding !== 'gzip') {
      const message = `Content-Encoding ${encoding} is not understood; send gzip or nothing.`;
      return done(new RecalldError('body_unreadable', message));
    }
    // The length that was announced is that of the compressed body, and Fastify would hold us to it.
    delete request.headers['content-length'];
    done(null, inflate(payload, limit));
  });
}

function inflate(payload: Readable, limit: number): Readable {
  const gunzip = createGunzip();
  let bytes = 0;
  const capped = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > limit)
        done(
          new RecalldError(
            'body_too_large',
            `The body has more than ${limit} bytes after inflation; send smaller batches.`,
          ),
        );
      else done(null, chunk);
    },
  });
  gunzip.on('error', () =>
    capped.destroy(new RecalldError('body_unreadable', 'The body is not valid gzip.')),
  );
  payload.on('error', (error) => capped.destroy(error));
  capped.on('close', () => gunzip.destroy());
  return payload.pipe(gunzip).pipe(capped);
}
