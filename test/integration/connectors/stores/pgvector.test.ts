import { describe } from 'vitest';
import { type PgvectorServer, startPglite } from '../../../../src/demo/rag/store.ts';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreAbilities } from '../../../contract/vector-store-bench.ts';
import { pgvectorService } from '../../../support/pgvector.ts';

const abilities: StoreAbilities = {
  metrics: ['cosine', 'l2', 'dot'],
  exactSearch: true,
  seededSample: true,
  searchesSeveral: true,
  manyDocuments: 20_000,
};

const servers: [string, () => Promise<PgvectorServer>][] = [['in PGlite', startPglite]];

/** URL of a database in which the user may create tables, and the extension if it is missing. */
const live = process.env['RECALLD_TEST_PGVECTOR_URL'];
if (live !== undefined) {
  servers.push(['at RECALLD_TEST_PGVECTOR_URL', async () => ({ url: live, stop: async () => undefined })]);
}

describe.each(servers)('pgvector %s', (_, start) => {
  describeVectorStore(abilities, async () => pgvectorService(await start()));
});
