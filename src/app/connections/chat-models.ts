/** Config -> the chat model. */
import { createOpenAiChatModel } from '../../adapters/chat-model/openai.ts';
import { createJsonApi } from '../../adapters/outbound-http/json-api.ts';
import type { LlmConfig } from '../../contracts/config/llm.ts';
import { RecalldError } from '../../core/errors.ts';
import type { ChatModel } from '../../ports/chat-model.ts';
import { bearer, createServiceSettings } from './service-settings.ts';

/** @throws RecalldError config_invalid when there is none, or its address, headers or TLS files cannot be used */
export function createChatModel(config: LlmConfig | undefined): ChatModel {
  if (config === undefined) {
    throw new RecalldError(
      'config_invalid',
      'The config names no chat model; add llm: {base_url, model, api_key} to ask one for questions.',
    );
  }
  const identity = {
    service: 'The chat model',
    configField: 'llm',
    urlKey: 'base_url',
    credentials: bearer(config.api_key),
  };
  const api = createJsonApi(createServiceSettings({ ...config, url: config.base_url }, identity));
  return createOpenAiChatModel({ api, model: config.model });
}
