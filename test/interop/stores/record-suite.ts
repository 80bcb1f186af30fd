/** Runs a suite against a real store, and records the store's responses if RECALLD_TEST_RECORD is 1. */
import { afterAll, afterEach, type RunnerTask } from 'vitest';
import type { RealStore, RunningStore } from './real-stores.ts';
import { type Exchange, startRecorder, writeStoreRecording } from './recording.ts';

/**
 * Call this function in a `describe`, before the suite. Returns a function that starts the store.
 *
 * @param name of the recording
 */
export function recordSuite(
  name: string,
  { start, speaksHttp }: RealStore,
): () => Promise<Pick<RunningStore, 'url' | 'stop'>> {
  const exchanges: Exchange[] = [];
  const tests: RunnerTask[] = [];
  let store: RunningStore | undefined;

  afterEach(({ task }) => void tests.push(task));
  // The suite stops its store before this hook runs.
  afterAll(() => {
    const count = (state: 'pass' | 'fail') => tests.filter(({ result }) => result?.state === state).length;
    if (process.env['RECALLD_TEST_RECORD'] !== '1' || count('fail') > 0 || store === undefined) return;
    const date = new Date().toISOString().slice(0, 10);
    writeStoreRecording({ name, date, versions: store.versions, tests: count('pass'), exchanges });
  });

  return async () => {
    const running = await start();
    store = running;
    const recorder = speaksHttp ? await startRecorder(running.url, exchanges) : null;
    return {
      url: recorder?.url ?? running.url,
      async stop() {
        await recorder?.close();
        await running.stop();
      },
    };
  };
}
