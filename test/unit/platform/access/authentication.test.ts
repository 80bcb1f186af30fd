import { EventEmitter, once } from 'node:events';
import fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { createAuthentication, identifyCallers } from '../../../../src/platform/access/authentication.ts';
import type { ApiKey } from '../../../../src/platform/access/credentials.ts';
import { recordLog } from '../../../support/log.ts';

const CALLS = 15;
const LIMIT = 10;
const key: ApiKey = {
  id: 'key-1',
  name: 'ci',
  scopes: ['read'],
  pipelines: null,
  createdAt: new Date(0),
  revokedAt: null,
};

it('counts every request that waited for the lookup of the same key against the rate limit', async () => {
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
  const noSession = () => Promise.reject(new Error('the test has no sessions'));
  const authentication = createAuthentication({
    findKey: noSession,
    sessions: {
      find: noSession,
      begin: noSession,
      idTokenOf: noSession,
      end: noSession,
      prune: noSession,
    },
    optional: false,
    logger: recordLog().logger,
    provider: null,
    authProxy: null,
  });
  await identifyCallers(app, { ...authentication, checkKey }, LIMIT);
  app.get('/v1/pipelines', () => 'ok');
  const ask = () => app.inject({ url: '/v1/pipelines', headers: { authorization: 'Bearer rcl_1' } });
  const answers = await Promise.all(Array.from({ length: CALLS }, ask));
  expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(LIMIT);
});
