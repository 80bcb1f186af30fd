/** The contract suite against the answers that real vector stores gave to it: see test/interop/stores. */
import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import { realStores } from '../../../interop/stores/real-stores.ts';
import { readStoreRecordings, startPlayer } from '../../../interop/stores/recording.ts';

const recordings = new Map(readStoreRecordings().map((recording) => [recording.name, recording]));

for (const { name, product, abilities, service } of realStores) {
  const recording = recordings.get(name);
  if (recording === undefined || recording.exchanges.length === 0) continue;
  const versions = Object.entries(recording.versions).map(([of, version]) => `${of} ${version}`);
  describe(`${product}, recorded on ${recording.date} from ${versions.join(', ')}`, () => {
    describeVectorStore(abilities, async () => {
      const player = await startPlayer(recording.exchanges);
      return { ...(await service(player.url)), stop: () => player.close() };
    });
  });
}
