// Preloaded into a daemon (NODE_OPTIONS=--import=...): writes the routes of its servers to ROUTES_FILE.
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';

const routes = new Set();
subscribe('fastify.initialization', ({ fastify }) => {
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.add(`${one} ${url}`);
  });
  fastify.addHook('onListen', (done) => {
    writeFileSync(process.env.ROUTES_FILE, JSON.stringify([...routes]));
    done();
  });
});
