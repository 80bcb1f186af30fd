/**
 * An OpenAI-compatible server on loopback. The server answers chat completion requests with fixed text, as a stream if
 * the request asks for one. If the request offers a search tool, the server first asks the agent to call the tool, once
 * for each query that belongs to the question.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ChatRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** The same texts as in corpus.py. */
const agentQueries = ['late parcel lost', 'lost phone recovery codes'];
const agentOnce = 'My invoice is missing.';
const agentOnceQueries = ['download missing invoice'];

const ANSWER = 'This is what the help pages say.';

export async function startFakeLlm() {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(JSON.parse(Buffer.concat(chunks).toString('utf8')) as ChatRequest, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function answer({ model, stream, messages, tools }: ChatRequest, response: ServerResponse): void {
  const called = messages.filter(({ role }) => role === 'tool').length;
  const tool = tools?.[0]?.function.name;
  const isOnce = messages.some(({ content }) => JSON.stringify(content ?? null).includes(agentOnce));
  const query = (isOnce ? agentOnceQueries : agentQueries)[called];
  const message =
    tool === undefined || query === undefined
      ? { role: 'assistant', content: ANSWER }
      : { role: 'assistant', content: null, tool_calls: [toolCall(tool, query, called)] };
  const reason = 'tool_calls' in message ? 'tool_calls' : 'stop';
  // Agents on LangGraph.js replace a message with the next one that has the same id.
  const common = { id: `chatcmpl-${called + 1}`, created: 1_700_000_000, model };
  if (stream !== true) {
    const usage = { prompt_tokens: 10, completion_tokens: 8, total_tokens: 18 };
    const body = { ...common, object: 'chat.completion', usage };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...body, choices: [{ index: 0, finish_reason: reason, message }] }));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const send = (delta: object, finish_reason: string | null) =>
    response.write(
      `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
    );
  send(message, null);
  send({}, reason);
  response.end('data: [DONE]\n\n');
}

function toolCall(name: string, query: string, index: number) {
  return { index: 0, id: `call_${index}`, type: 'function', function: { name, arguments: JSON.stringify({ query }) } };
}
