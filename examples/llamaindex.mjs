// Reports the results of LlamaIndex.TS retrievers through LlamaIndex's events.
//
//   npm install @llamaindex/core recalld
//   RECALLD_URL=http://127.0.0.1:8321 node examples/llamaindex.mjs
import { Settings } from '@llamaindex/core/global';
import { BaseRetriever } from '@llamaindex/core/retriever';
import { TextNode } from '@llamaindex/core/schema';
import { createClient } from 'recalld/client';

const client = createClient({
  url: process.env.RECALLD_URL ?? 'http://127.0.0.1:8321',
  apiKey: process.env.RECALLD_API_KEY,
  pipeline: process.env.RECALLD_PIPELINE ?? 'support-docs',
});

// Call this once at startup: it reports every retriever in the process.
Settings.callbackManager.on('retrieve-end', ({ detail: { query, nodes } }) => {
  client.track({
    text: typeof query === 'string' ? query : query.query,
    results: nodes.map(({ node, score }) => ({ id: node.id_, score })),
  });
});

/** Placeholder for the service's own retriever, such as an index's `asRetriever()`. */
class SupportRetriever extends BaseRetriever {
  async _retrieve() {
    return [
      { node: new TextNode({ id_: 'password-reset', text: 'Open the settings and choose "Reset".' }), score: 0.83 },
      { node: new TextNode({ id_: 'account-recovery', text: 'Write to the help desk.' }), score: 0.71 },
    ];
  }
}

const nodes = await new SupportRetriever().retrieve({ query: 'How do I reset my password?' });
console.log(JSON.stringify(nodes.map(({ node }) => node.id_)));

// At shutdown.
const { pending } = await client.close();
process.exitCode = pending === 0 ? 0 : 1;
