/** A retriever without latency that returns document `dn` and nine others for `question n`. */
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const asked = Number((JSON.parse(body) as { query: string }).query.replace('question ', ''));
    const results = Array.from({ length: 10 }, (_, i) => ({
      id: `d${asked + i * 100_000}`,
      score: 1 - i / 10,
    }));
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ results }));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
