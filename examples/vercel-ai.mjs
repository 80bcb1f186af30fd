// Reports the searches of an AI SDK agent from its search tool, because the SDK has no retriever.
//
//   npm install ai zod recalld
//   RECALLD_URL=http://127.0.0.1:8321 node examples/vercel-ai.mjs
import { generateText, stepCountIs, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { createClient } from 'recalld/client';
import { z } from 'zod';

const client = createClient({
  url: process.env.RECALLD_URL ?? 'http://127.0.0.1:8321',
  apiKey: process.env.RECALLD_API_KEY,
  pipeline: process.env.RECALLD_PIPELINE ?? 'support-docs',
});

/** Placeholder for the service's own retriever: an embedding model and a vector store. */
async function retrieve(_question) {
  return [
    { id: 'password-reset', score: 0.83, text: 'Open the settings and choose "Reset".' },
    { id: 'account-recovery', score: 0.71, text: 'Write to the help desk.' },
  ];
}

// A Mastra tool has the same execute function and works the same way.
const search = (sessionId) =>
  tool({
    description: 'Searches the documentation.',
    inputSchema: z.object({ question: z.string() }),
    async execute({ question }) {
      const startedAt = performance.now();
      const documents = await retrieve(question);
      client.track({ text: question, results: documents, latencyMs: performance.now() - startedAt, sessionId });
      return documents;
    },
  });

/** Placeholder for the service's own model: it requests a search and answers from the results. */
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const input = JSON.stringify({ question: 'How do I reset my password?' });
const turns = [
  { content: [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'search', input }], finishReason: 'tool-calls' },
  { content: [{ type: 'text', text: 'Open the settings and choose "Reset".' }], finishReason: 'stop' },
];
const model = new MockLanguageModelV3({
  async doGenerate() {
    const { content, finishReason } = turns.shift();
    return { content, finishReason: { unified: finishReason, raw: undefined }, usage, warnings: [] };
  },
});

const { text } = await generateText({
  model,
  tools: { search: search('session-1') },
  stopWhen: stepCountIs(3),
  prompt: 'I cannot get in, what now?',
});
console.log(text);

// At shutdown.
const { pending } = await client.close();
process.exitCode = pending === 0 ? 0 : 1;
