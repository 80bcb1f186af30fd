import { describe } from 'vitest';
import { describeVectorStore } from '../../contract/vector-store.contract.ts';
import type { StoreAbilities } from '../../contract/vector-store-bench.ts';
import { type ChromaServer, chromaService, startChroma } from '../../support/chroma.ts';

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
