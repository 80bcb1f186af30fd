import { EventEmitter, once } from 'node:events';
import fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { identifyCallers } from '../../../../src/platform/access/authentication.ts';
import type { ApiKey } from '../../../../src/platform/access/credentials.ts';

const CALLS = 15;
const LIMIT = 10;
const key: ApiKey = { id: 'key-1', name: 'ci', scopes: ['read'], createdAt: new Date(0), revokedAt: null };

it('counts each of the calls that waited for the same key', async () => {
  const app = fastify();
  onTestFinished(() => app.close());
  const lookup = new EventEmitter();
  const found = once(lookup, 'found').then(() => key);
  let waiting = 0;
  const checkKey = (): Promise<ApiKey> => {
    waiting += 1;
    if (waiting === CALLS) lookup.emit('found');
    return found;
  };
  const sessions = { begin: () => Promise.reject(new Error('nobody signs in')), end: () => Promise.resolve() };
  const checkSession = (): Promise<null> => Promise.resolve(null);
  await identifyCallers(app, { optional: false, checkKey, checkSession, sessions }, LIMIT);
  app.get('/v1/pipelines', () => 'ok');
  const ask = () => app.inject({ url: '/v1/pipelines', headers: { authorization: 'Bearer rcl_1' } });
  const answers = await Promise.all(Array.from({ length: CALLS }, ask));
  expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(LIMIT);
});
