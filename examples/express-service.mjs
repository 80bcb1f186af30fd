// A RAG service on Express that reports every query, and every thumbs-up or thumbs-down, to recalld.
//
//   npm install express
//   RECALLD_URL=http://127.0.0.1:8321 PORT=3000 node examples/express-service.mjs
//   curl -s localhost:3000/ask -H 'content-type: application/json' -d '{"question": "How do I reset my password?"}'
import express from 'express';
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

const app = express();
app.use(express.json());

app.post('/ask', async (request, response) => {
  const { question, session } = request.body;
  const startedAt = performance.now();
  const results = await retrieve(question);
  const latencyMs = performance.now() - startedAt;
  // The browser gets the id with the answer and returns it with the feedback.
  const queryId = recalld.track({ text: question, results, latencyMs, sessionId: session });
  response.json({ queryId, documents: results });
});

app.post('/thumb', (request, response) => {
  const { queryId, value } = request.body;
  recalld.feedback({ queryId, kind: 'thumb', value });
  response.status(204).end();
});

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});

// Sends the buffered items before the process exits.
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void recalld.close();
});
