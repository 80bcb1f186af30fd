import { type Client, createClient } from '../../src/client/client.ts';
import { withDaemon } from './child.ts';
import { liveConfig } from './live-config.ts';
import { figure, type MeasureRow, quantile } from './row.ts';

/** What a call of the client costs the service that makes it, while the client delivers to a daemon. */
export const clientCall: MeasureRow = (quick) =>
  withDaemon(liveConfig(0.1), async (daemon) => {
    const client = createClient({ url: daemon.url, pipeline: 'docs' });
    const [p50, p99, most]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      const calls = await timeCalls(client, quick ? 200 : 5000, 1);
      p50.push(quantile(calls, 0.5));
      p99.push(quantile(calls, 0.99));
      most.push(Math.max(...calls));
    }
    await client.close();
    const p99Figure = figure('p99 of client.track with a vector of 384 numbers', 'µs', p99);
    return {
      row: 'call of the client in the host process',
      name: 'client-call',
      figures: [figure('p50', 'µs', p50), p99Figure, figure('longest', 'µs', most)],
      bars: [{ what: 'p99', value: p99Figure.median / 1000, side: 'at most', limit: 1, unit: 'ms' }],
      notes: [],
    };
  });

const embedding = Float32Array.from({ length: 384 }, (_, i) => Math.sin(i));
const results = Array.from({ length: 10 }, (_, i) => ({ id: `chunk-${i}`, score: 1 - i / 10 }));

/**
 * Microseconds that each call took.
 *
 * @param pauseMs after each ten calls; 1 gives some thousand queries a second, as a busy service has them
 */
export async function timeCalls(client: Client, count: number, pauseMs: number): Promise<number[]> {
  const calls: number[] = [];
  for (let call = 0; call < count; call++) {
    const startedAt = performance.now();
    client.track({ text: 'How do I change my delivery address?', embedding, results, topK: 10, latencyMs: 42 });
    calls.push((performance.now() - startedAt) * 1000);
    if (call % 10 === 9) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return calls;
}
