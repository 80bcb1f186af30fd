/** The suites of test/interop/stores against the answers that real vector stores gave to them. */
import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import { describeQdrantCollections } from '../../../interop/stores/qdrant/collections-suite.ts';
import { collectionsRecording, realStores, retrieverRecording } from '../../../interop/stores/real-stores.ts';
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

for (const { name, product, abilities, service, retriever } of realStores) {
  for (const recording of recordingOf(collectionsRecording(name))) {
    describe(`collections of ${product}, ${titleOf(recording)}`, () => {
      describeQdrantCollections(() => play(recording));
    });
  }
  for (const recording of recordingOf(name)) {
    describe(`${product}, ${titleOf(recording)}`, () => {
      describeVectorStore(abilities, async () => {
        const { url, stop } = await play(recording);
        return { ...(await service(url)), stop };
      });
    });
  }
  if (retriever === undefined) continue;
  for (const recording of recordingOf(retrieverRecording(name))) {
    describe(`the retriever of ${product}, ${titleOf(recording)}`, () => {
      describeSearchEngineRetriever(retriever, () => play(recording));
    });
  }
}
