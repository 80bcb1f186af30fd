/**
 * A retriever that returns texts, and a chat model; both respond immediately. The grade depends only on the length of
 * the prompt.
 */
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/search') {
      const order = Number(/order (\d+)/.exec(body)?.[1]);
      const results = Array.from({ length: 10 }, (_, i) => {
        const id = `chunk-${(order * 7 + i) % 50_000}`;
        return { id, score: 1 - i / 10, text: `What ${id} says of orders and their addresses. `.repeat(20) };
      });
      response.end(JSON.stringify({ results }));
      return;
    }
    const message = { role: 'assistant', content: JSON.stringify({ grade: body.length % 4 }) };
    const usage = { prompt_tokens: 500, completion_tokens: 10, total_tokens: 510 };
    response.end(
      JSON.stringify({
        id: 'bare',
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      }),
    );
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
