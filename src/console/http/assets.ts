/** The style sheet and the icon, the only things that pages load. */
import path from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { secure } from './defences.ts';

/** From the compiled file as from the source. */
const root = path.join(import.meta.dirname, '../../../src/console/assets');

export async function addAssets(app: FastifyInstance): Promise<void> {
  // Pages ask for the style sheet of their version, since the files of a package all bear the same date.
  await app.register(fastifyStatic, { root, serve: false, lastModified: false, cacheControl: false });
  for (const name of ['style.css', 'icon.svg']) {
    app.get(`/${name}`, (_request, reply) => {
      secure(reply);
      return reply.header('cache-control', 'no-cache').sendFile(name);
    });
  }
}
