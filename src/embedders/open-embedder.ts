/** Config -> embedders. A new kind is one line here. */

import { createJsonApi } from '../outbound/json-api.ts';
import { bearer, createServiceSettings } from '../outbound/service-settings.ts';
import type { EmbedderConfig } from './config.ts';
import type { Embedder } from './embedder.ts';
import { createOpenAiEmbedder } from './openai.ts';
import { createTeiEmbedder } from './tei.ts';

/** @throws RecalldError config_invalid for an address, header or TLS file that cannot be used */
export function createEmbedder(config: EmbedderConfig): Embedder {
  const api = createJsonApi(
    createServiceSettings(
      { ...config, url: config.base_url },
      {
        service: 'The embedder',
        configField: 'embedder',
        urlKey: 'base_url',
        credentials: bearer(config.api_key),
        credentialsKey: 'api_key',
      },
    ),
  );
  const batchSize = config.batch_size;
  switch (config.kind) {
    case 'openai': {
      const { model, dimensions = null } = config;
      return createOpenAiEmbedder({ api, model, dimensions, batchSize });
    }
    case 'tei':
      return createTeiEmbedder({ api, promptName: config.prompt_name ?? null, batchSize });
  }
}
