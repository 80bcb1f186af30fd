// Reports a query and the user's feedback from a Node.js, Bun or Deno service.
//
//   RECALLD_URL=http://127.0.0.1:8321 node examples/node-client.mjs
import { createClient } from 'recalld/client';

// One client for the lifetime of the service.
const client = createClient({
  url: process.env.RECALLD_URL ?? 'http://127.0.0.1:8321',
  apiKey: process.env.RECALLD_API_KEY,
  pipeline: process.env.RECALLD_PIPELINE ?? 'support-docs',
  onDrop: ({ what, reason, count, detail }) => console.warn(`recalld: ${count} ${what} ${reason}: ${detail}`),
});

/** Placeholder for the service's own retriever: an embedding model and a vector store. */
async function retrieve(_question) {
  return {
    embedding: [0.12, -0.53, 0.34],
    documents: [
      { id: 'password-reset', score: 0.83 },
      { id: 'account-recovery', score: 0.71 },
    ],
  };
}

/** Answers a question. The browser gets the id with the answer and returns it with the feedback. */
async function answer(question, sessionId) {
  const startedAt = performance.now();
  const { embedding, documents } = await retrieve(question);
  const queryId = client.track({
    text: question,
    embedding,
    results: documents,
    topK: 5,
    latencyMs: performance.now() - startedAt,
    sessionId,
    segments: { language: 'en' },
  });
  return { queryId, documents };
}

const { queryId } = await answer('How do I reset my password?', 'session-1');
client.feedback({ queryId, kind: 'click', documentId: 'password-reset', rank: 1 });
client.feedback({ queryId, kind: 'thumb', value: 'up' });

// At shutdown: sends the buffered items within five seconds.
const { sent, pending } = await client.close();
console.log(JSON.stringify({ query_id: queryId, sent, pending }));
process.exitCode = pending === 0 && sent === 3 ? 0 : 1;
