/**
 * Runs tracing programs in their newest versions against a running daemon. RECALLD_TEST_RECORD=1 also replaces the
 * recordings that `npm test` replays.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anInstallation, type Installation, type InstalledDaemon } from '../../support/installation.ts';
import { combinations } from './combinations.ts';
import { record } from './record.ts';
import { writeRecording } from './recording.ts';
import { configOf, expected, send, stored } from './replay.ts';

let installed: Installation;
let daemon: InstalledDaemon;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  installed = await anInstallation(
    { 'recalld.yaml': configOf(combinations) },
    { atEnd: (clean) => void cleanups.unshift(clean) },
  );
  daemon = await installed.serve();
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

describe('recalld stores the retrievals of the newest versions:', () => {
  it.each(combinations.map((combination) => [combination.name, combination] as const))('%s', async (_, combination) => {
    const recording = await record(combination);
    if (process.env['RECALLD_TEST_RECORD'] === '1') writeRecording(recording);
    await send(recording, daemon);
    expect(await stored(recording, installed)).toEqual(expected(recording));
  });
});
