/**
 * Runs the contract suite against vector stores in their newest versions. RECALLD_TEST_RECORD=1 also replaces the
 * recordings that `npm test` replays.
 */
import { existsSync } from 'node:fs';
import { afterAll, afterEach, describe, type RunnerTask } from 'vitest';
import { describeVectorStore } from '../../contract/vector-store.contract.ts';
import { type RunningStore, realStores } from './real-stores.ts';
import { type Exchange, startRecorder, writeStoreRecording } from './recording.ts';

const here = realStores.filter(({ needs }) => needs === undefined || existsSync(needs));

describe.each(here)('$product $name', ({ name, speaksHttp, abilities, start, service }) => {
  const exchanges: Exchange[] = [];
  let store: RunningStore | undefined;

  const tests: RunnerTask[] = [];

  afterEach(({ task }) => void tests.push(task));
  // The suite stops its service before this.
  afterAll(() => {
    const count = (state: 'pass' | 'fail') => tests.filter(({ result }) => result?.state === state).length;
    if (process.env['RECALLD_TEST_RECORD'] !== '1' || count('fail') > 0 || store === undefined) return;
    const date = new Date().toISOString().slice(0, 10);
    writeStoreRecording({ name, date, versions: store.versions, tests: count('pass'), exchanges });
  });

  describeVectorStore(abilities, async () => {
    const running = await start();
    store = running;
    const recorder = speaksHttp ? await startRecorder(running.url, exchanges) : null;
    const within = await service(recorder?.url ?? running.url);
    return {
      ...within,
      async stop() {
        await within.stop();
        await recorder?.close();
        await running.stop();
      },
    };
  });
});
