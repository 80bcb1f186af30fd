import { type Daemon, withDaemon } from './child.ts';
import { sendLoad } from './http-load.ts';
import { processorMs } from './ingest.ts';
import { liveBatch, liveConfig } from './live-config.ts';
import { alternate, figure, type MeasureRow } from './row.ts';

const BATCH = 100;

/** Rules in which only the last pattern matches the documents of the queries. */
const rules = `
    isolation:
      - {name: tenants, segment: tenant, allow: ["{{tenant}}/*", "public/*", "chunk-*"]}
      - {name: shared, segment: tenant, allow: ["{{tenant}}-shared/*", "chunk-*"]}
`;

/** Compares ingest under isolation rules, which are evaluated for every query, with the same ingest without rules. */
export const ingestIsolation: MeasureRow = (quick) =>
  withDaemon(liveConfig(0.1), (without) =>
    withDaemon(liveConfig(0.1) + rules, async (beside) => {
      const bodies = Array.from({ length: quick ? 20 : 1500 }, () => liveBatch(BATCH));
      let next = 0;
      const load = { path: '/v1/queries', connections: 32, body: () => bodies[next++ % bodies.length] ?? '' };
      const rates = { without: [] as number[], beside: [] as number[] };
      const costOf = async (name: keyof typeof rates, { url, pid }: Daemon): Promise<number> => {
        const before = processorMs(pid);
        const { accepted, requestsPerSecond } = await sendLoad({ ...load, url, seconds: quick ? 0.3 : 4 });
        rates[name].push(BATCH * requestsPerSecond);
        return ((processorMs(pid) - before) * 1000) / (BATCH * accepted);
      };
      for (const { url } of [without, beside]) await sendLoad({ ...load, url, seconds: quick ? 0.1 : 2 });
      const costs = await alternate(quick ? 1 : 7, {
        without: () => costOf('without', without),
        beside: () => costOf('beside', beside),
      });
      const [plain, ruled] = [
        figure('CPU time without rules', 'µs per query', costs.without),
        figure('CPU time with two isolation rules', 'µs per query', costs.beside),
      ];
      return {
        row: 'ingest with isolation rules',
        name: 'ingest-isolation',
        figures: [
          figure(`no rules, batches of ${BATCH}, 32 connections`, 'queries/s', rates.without),
          figure(`two isolation rules, batches of ${BATCH}, 32 connections`, 'queries/s', rates.beside),
          plain,
          ruled,
        ],
        bars: [
          {
            what: 'CPU time with rules, relative to CPU time without',
            value: ruled.median / plain.median,
            side: 'at most',
            limit: 1.25,
            unit: 'times',
          },
        ],
        notes: [
          'Both rules evaluate ten documents of every query, including queries that are not sampled. `npx tsx bench/isolation.ts` measures the rules alone. CPU time covers all threads of the daemon.',
        ],
      };
    }),
  );
