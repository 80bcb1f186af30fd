/** An agent of the AI SDK whose tool searches the documents. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { keywordSearch, queries } from './corpus.mjs';
import { retrieved, SESSION } from './recorder.mjs';

export async function run() {
  const provider = createOpenAICompatible({ name: 'interop', baseURL: process.env.OPENAI_BASE_URL, apiKey: 'none' });
  const asking = (name, prompt) => ({
    model: provider('interop'),
    prompt,
    stopWhen: stepCountIs(5),
    tools: {
      search_docs: tool({
        description: 'Searches the help pages.',
        inputSchema: z.object({ query: z.string() }),
        execute: async ({ query }) => {
          const found = keywordSearch(query, 2);
          retrieved(name, query, found);
          return found;
        },
      }),
    },
    experimental_telemetry: { isEnabled: true, metadata: { sessionId: SESSION } },
  });
  await generateText(asking('agent, one retrieval', queries.agentOnce));
  await generateText(asking('agent', queries.agent));
  await streamText(asking('agent, streaming', queries.agent)).consumeStream();
}
