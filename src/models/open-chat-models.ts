/** Config -> the chat model. */

import { RecalldError } from '../errors.ts';
import { createJsonApi } from '../outbound/json-api.ts';
import { bearer, createServiceSettings } from '../outbound/service-settings.ts';
import type { ChatModel } from './chat-model.ts';
import type { LlmConfig } from './config.ts';
import { createOpenAiChatModel } from './openai-chat.ts';

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
