import { describe } from 'vitest';
import { describeVectorStore } from '../../../contract/vector-store.contract.ts';
import type { StoreService } from '../../../contract/vector-store-bench.ts';
import { startFakeSearchEngine } from '../../../support/fake-search-engine.ts';
import { searchEngineAbilities, searchEngineService, searchEngines } from '../../../support/search-engines.ts';

const services: [string, number, () => Promise<StoreService>][] = [];
for (const kind of ['elasticsearch', 'opensearch'] as const) {
  const { name } = searchEngines[kind];
  const standIn = async (): Promise<StoreService> => {
    const server = await startFakeSearchEngine(kind);
    return searchEngineService(kind, server.url, () => server.close());
  };
  services.push([`${name}, a stand-in with its API`, 2000, standIn]);
  const variable = `RECALLD_TEST_${kind.toUpperCase()}_URL`;
  const liveUrl = process.env[variable];
  if (liveUrl !== undefined) {
    const live = async () => searchEngineService(kind, liveUrl, async () => undefined);
    services.push([`${name} at ${variable}`, 20_000, live]);
  }
}

describe.each(services)('%s', (_, manyDocuments, start) => {
  describeVectorStore({ ...searchEngineAbilities, manyDocuments }, start);
});
