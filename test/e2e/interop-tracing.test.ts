/** Exports of real tracing programs, recorded by `npm run test:interop`, replayed against a running daemon. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRecordings } from '../interop/tracing/recording.ts';
import { configOf, expected, send, stored } from '../interop/tracing/replay.ts';
import { anInstallation, type Installation, type InstalledDaemon } from '../support/installation.ts';

const recordings = readRecordings();
let installed: Installation;
let daemon: InstalledDaemon;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  installed = await anInstallation(
    { 'recalld.yaml': configOf(recordings) },
    { atEnd: (clean) => void cleanups.unshift(clean) },
  );
  daemon = await installed.serve();
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

describe('recalld stores what the program retrieved:', () => {
  it.each(recordings.map((recording) => [recording.name, recording] as const))('%s', async (_, recording) => {
    const messages = await send(recording, daemon);
    expect(await stored(recording, installed)).toEqual(expected(recording));
    expect(messages.filter((message) => message !== '')).toEqual([]);
  });
});
