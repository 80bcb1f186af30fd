// A RAG service on Fastify that reports every query, and every thumbs-up or thumbs-down, to recalld.
//
//   npm install fastify
//   RECALLD_URL=http://127.0.0.1:8321 PORT=3000 node examples/fastify-service.mjs
//   curl -s localhost:3000/ask -H 'content-type: application/json' -d '{"question": "How do I reset my password?"}'
import { fastify } from 'fastify';
import { createClient } from 'recalld/client';

const recalld = createClient({
  url: process.env.RECALLD_URL ?? 'http://127.0.0.1:8321',
  apiKey: process.env.RECALLD_API_KEY,
  pipeline: process.env.RECALLD_PIPELINE ?? 'support-docs',
});

/** Placeholder for the service's own retriever. */
async function retrieve(_question) {
  return [
    { id: 'password-reset', score: 0.83 },
    { id: 'account-recovery', score: 0.71 },
  ];
}

const app = fastify();

app.post('/ask', async (request) => {
  const { question, session } = request.body;
  const startedAt = performance.now();
  const results = await retrieve(question);
  const latencyMs = performance.now() - startedAt;
  // The browser gets the id with the answer and returns it with the feedback.
  const queryId = recalld.track({ text: question, results, latencyMs, sessionId: session });
  return { queryId, documents: results };
});

app.post('/thumb', async (request, reply) => {
  const { queryId, value } = request.body;
  recalld.feedback({ queryId, kind: 'thumb', value });
  return reply.code(204).send();
});

// Sends the buffered items before the process exits.
app.addHook('onClose', () => recalld.close());
process.once('SIGTERM', () => void app.close());

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }));
