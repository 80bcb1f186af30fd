/**
 * A retriever without latency that returns document `dn` for `question n` at some rank among ten, or not at all. For a
 * third of the questions, the rank changes with every request.
 */
import { createServer } from 'node:http';

const times = new Map<number, number>();

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const asked = Number((JSON.parse(body) as { query: string }).query.replace('question ', ''));
    const time = times.get(asked) ?? 0;
    times.set(asked, time + 1);
    const rank = (asked * 7 + (asked % 3 === 0 ? 5 * time : 0)) % 14;
    const results = Array.from({ length: 10 }, (_, i) => ({
      id: i === rank ? `d${asked}` : `d${asked + (i + 1) * 100_000}`,
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
