/** The style sheet and the icon, the only things that pages load. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { secure } from './defences.ts';

/** From the compiled file as from the source. */
const folder = path.join(import.meta.dirname, '../../../src/console/assets');

const types: Readonly<Record<string, string>> = {
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

export function addAssets(app: FastifyInstance): void {
  for (const [name, type] of Object.entries(types)) {
    const content = readFileSync(path.join(folder, name));
    const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
    app.get(`/${name}`, async (request, reply) => {
      secure(reply);
      reply.headers({ etag, 'cache-control': 'no-cache', 'content-type': type });
      const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
      return known?.includes(etag) === true ? reply.code(304).send() : reply.send(content);
    });
  }
}
