/**
 * The monitored RAG service, in this process: search, embeddings, the manifest of its index, and the receiver of
 * recalld's messages. One server is used for all shapes, so that addresses stay the same between a history and its
 * worlds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import type { Call, ManifestLine } from './fault.ts';
import type { Asked } from './search.ts';
import type { VectorOf } from './vectors.ts';

/** Current handlers of the simulated service. */
export interface Front {
  readonly call: Call;
  readonly embed: VectorOf;
  readonly manifest: () => readonly ManifestLine[];
}

/** A message about an incident, as recalld's webhook sends it. */
export interface SentMessage {
  readonly event: string;
  readonly severity: string;
  readonly summary: string;
  /** The sentence of the message that names the likely cause. */
  readonly diagnosis: string;
}

export interface RagServer {
  readonly url: string;
  serve(front: Front): void;
  /** Messages received since the last call. */
  takeMessages(): SentMessage[];
  stop(): Promise<void>;
}

interface SearchBody {
  readonly query: string;
  readonly k: number;
  readonly segments?: Readonly<Record<string, string>>;
}

interface MessageBody {
  readonly event: string;
  readonly incident: { readonly severity: string };
  readonly summary: string;
  readonly diagnosis: string;
}

export async function startRagServer(): Promise<RagServer> {
  let front: Front | null = null;
  let messages: SentMessage[] = [];
  const server = Fastify({ logger: false, bodyLimit: 64 * 1024 * 1024 });
  const current = (): Front => {
    if (front === null) throw new Error('No world is open.');
    return front;
  };
  server.post<{ Body: SearchBody }>('/search', async ({ body }, reply) => {
    const segments = Object.fromEntries(Object.entries(body.segments ?? {}).filter(([, value]) => value !== ''));
    const asked: Asked = { text: body.query, k: body.k, segments, origin: 'golden' };
    const answer = current().call(asked);
    if (answer.latencyMs > 0) await sleep(answer.latencyMs);
    if (answer.kind === 'hits') return { results: answer.hits.map(({ id, score }) => ({ id, score })) };
    return reply
      .code(answer.status)
      .type(answer.body.startsWith('<') ? 'text/html' : 'application/json')
      .send(answer.body);
  });
  server.post<{ Body: { input: string | string[]; model: string } }>('/v1/embeddings', ({ body }) => {
    const texts = typeof body.input === 'string' ? [body.input] : body.input;
    const { embed } = current();
    const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: Array.from(embed(text)) }));
    return Promise.resolve({ object: 'list', data, model: body.model, usage: { prompt_tokens: 0, total_tokens: 0 } });
  });
  server.get('/manifest', () => Promise.resolve({ items: current().manifest(), next_cursor: null }));
  server.post<{ Body: MessageBody }>('/hook', ({ body }) => {
    const { event, incident, summary, diagnosis } = body;
    messages.push({ event, severity: incident.severity, summary, diagnosis });
    return Promise.resolve({});
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    serve(next) {
      front = next;
    },
    takeMessages() {
      const taken = messages;
      messages = [];
      return taken;
    },
    stop: () => server.close(),
  };
}
