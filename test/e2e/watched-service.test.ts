/** One service with weeks of history, shared by all tests that only read; tests that change data come last. */
import { afterAll, beforeAll } from 'vitest';
import { describeHistory } from './watched-history.ts';
import { describePages } from './watched-pages.ts';
import { startWatchedService, type WatchedService } from './watched-service.ts';

let service: WatchedService;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  service = await startWatchedService((clean) => void cleanups.unshift(clean));
}, 360_000);
afterAll(async () => {
  for (const clean of cleanups) await clean();
});

describeHistory(() => service);
describePages(() => service);
