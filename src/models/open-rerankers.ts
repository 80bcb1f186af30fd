/** Config -> rerankers. A new kind is one line here. */
import { createJsonApi } from '../outbound/json-api.ts';
import { bearer, createServiceSettings } from '../outbound/service-settings.ts';
import type { RerankerConfig } from '../retrievers/config.ts';
import { createCohereReranker } from './reranker/cohere.ts';
import { createTeiReranker } from './reranker/tei.ts';
import type { Reranker } from './reranker.ts';

/**
 * @param configField where the config describes it
 * @throws RecalldError config_invalid for an address, header or TLS file that cannot be used
 */
export function createReranker(config: RerankerConfig, configField: string): Reranker {
  const api = createJsonApi(
    createServiceSettings(config, {
      service: 'The reranker',
      configField,
      credentials: bearer(config.api_key),
      credentialsKey: 'api_key',
    }),
  );
  switch (config.kind) {
    case 'tei':
      return createTeiReranker({ api, path: config.path });
    case 'cohere':
      return createCohereReranker({ api, path: config.path, model: config.model });
  }
}
