import { describe, expect, it } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import { never, type StoreAbilities, valueOf } from '../../../contract/vector-store-bench.ts';
import {
  addRecords,
  type ChromaServer,
  chromaService,
  createCollection,
  openChroma,
  startChroma,
} from '../../../support/chroma.ts';

const abilities: StoreAbilities = {
  metrics: ['cosine', 'l2', 'dot'],
  exactSearch: false,
  seededSample: true,
  manyDocuments: 20_000,
};

const servers: [string, () => Promise<ChromaServer>][] = [['from npm', startChroma]];

const live = process.env['RECALLD_TEST_CHROMA_URL'];
const key = process.env['RECALLD_TEST_CHROMA_KEY'];
if (live !== undefined) {
  const headers: Record<string, string> = key === undefined ? {} : { 'x-chroma-token': key };
  servers.push(['at RECALLD_TEST_CHROMA_URL', async () => ({ url: live, headers, stop: async () => undefined })]);
}

describe.each(servers)('Chroma %s', (_, start) => {
  describeVectorStore(abilities, async () => chromaService(await start()));
});

it('the Chroma store finds documents by a metadata key if a document has several chunks', async () => {
  const server = await startChroma();
  const store = openChroma(server, 'by_key', { ...server, timeoutMs: 20_000, retries: 0 }, 'doc');
  try {
    await createCollection(server, 'by_key', { hnsw: { space: 'cosine' } });
    await addRecords(server, 'by_key', {
      ids: ['1', '2', '3', '4'],
      embeddings: [
        [1, 0],
        [1, 0.1],
        [0, 1],
        [1, 1],
      ],
      documents: ['a one', 'a two', 'seven', 'of none'],
      metadatas: [
        { doc: 'a', language: 'v1' },
        { doc: 'a', language: 'v2' },
        { doc: 7, language: 3 },
        { language: 'v1' },
      ],
    });
    expect(valueOf(await store.existing(['a', 'b', '7', '1'], never))).toEqual(new Set(['a', '7']));
    expect(valueOf(await store.list(null, never)).ids.toSorted()).toEqual(['7', 'a', 'a']);
    const chunks = valueOf(await store.chunks(['a', '7'], never)).toSorted((x, y) =>
      `${x.content}` < `${y.content}` ? -1 : 1,
    );
    expect(chunks).toEqual([
      { id: 'a', content: 'a one', version: 'v1' },
      { id: 'a', content: 'a two', version: 'v2' },
      { id: '7', content: 'seven', version: '3' },
    ]);
    const nearest = await store.nearest(
      { vector: Float32Array.of(0, 1), k: 1, filter: {}, exact: false, withContent: false },
      never,
    );
    expect(valueOf(nearest).neighbours.map(({ id }) => id)).toEqual(['7']);
    expect(valueOf(await store.sample({ n: 9, seed: 1, withContent: false }, never)).ids.toSorted()).toEqual([
      '7',
      'a',
      'a',
    ]);
  } finally {
    await store.close();
    await server.stop();
  }
});
