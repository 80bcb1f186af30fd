/** Runs the suites of test/interop/stores on recorded responses of real vector stores. */
import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import { describeMonitoring } from '../../../interop/stores/monitoring-suite.ts';
import { describeQdrantCollections } from '../../../interop/stores/qdrant/collections-suite.ts';
import { type RealStore, realStores, recordingName } from '../../../interop/stores/real-stores.ts';
import { readStoreRecordings, type StoreRecording, startPlayer } from '../../../interop/stores/recording.ts';
import { describeSearchEngineRetriever } from '../../../interop/stores/retriever-suite.ts';

const recordings = readStoreRecordings().filter(({ exchanges }) => exchanges.length > 0);
const recordingOf = (name: string) => recordings.filter((recording) => recording.name === name);
const titleOf = ({ date, versions }: StoreRecording): string => {
  const named = Object.entries(versions).map(([product, version]) => `${product} ${version}`);
  return `recorded on ${date} from ${named.join(', ')}`;
};
const play = async ({ exchanges }: StoreRecording) => {
  const player = await startPlayer(exchanges);
  return { url: player.url, stop: () => player.close() };
};

/** Opens a store on a replay server, which stops together with the store. */
const playStore = (store: RealStore, recording: StoreRecording) => async () => {
  const { url, stop } = await play(recording);
  return { ...(await store.service(url)), stop };
};

for (const store of realStores) {
  const { name, product, abilities, retriever } = store;
  for (const recording of recordingOf(recordingName(name, 'collections'))) {
    describe(`collections of ${product}, ${titleOf(recording)}`, () => {
      describeQdrantCollections(() => play(recording));
    });
  }
  for (const recording of recordingOf(name)) {
    describe(`${product}, ${titleOf(recording)}`, () => {
      describeVectorStore(abilities, playStore(store, recording));
    });
  }
  for (const recording of recordingOf(recordingName(name, 'monitoring'))) {
    describe(`monitoring of ${product}, ${titleOf(recording)}`, () => {
      describeMonitoring(abilities, playStore(store, recording), retriever);
    });
  }
  if (retriever === undefined) continue;
  for (const recording of recordingOf(recordingName(name, 'retriever'))) {
    describe(`the retriever of ${product}, ${titleOf(recording)}`, () => {
      describeSearchEngineRetriever(retriever, () => play(recording));
    });
  }
}
