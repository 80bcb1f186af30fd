/** docs/explanation/soak.md: results of the latest soak tests, from their result files. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { latencyRows, ledgerHead, ledgerRows, memoryRows, type SoakResult } from '../../bench/soak/report.ts';
import { code, generatedPage, type Page, table } from './page.ts';

const results = path.resolve(import.meta.dirname, '../../bench/results');
const titles = { postgres: 'Jobs in PostgreSQL', redis: 'Jobs in Redis' } as const;

/** Returns the page, or an empty list if there are no results yet. */
export function soakPages(): Page[] {
  const found = (['postgres', 'redis'] as const).flatMap((queue) => {
    const file = path.join(results, `soak-${queue}.json`);
    return existsSync(file) ? [JSON.parse(readFileSync(file, 'utf8')) as SoakResult] : [];
  });
  if (found.length === 0) return [];
  return [
    generatedPage(
      'docs/explanation/soak.md',
      ['bench/results/soak-*.json'],
      [
        '# Soak test',
        'In this test, six recalld processes, two of each role, share one PostgreSQL and one queue. Clients resend each live query, feedback item and OpenTelemetry span until recalld responds with 202. Other clients read every page, scrape `/metrics` and start golden runs. Meanwhile, `kill -9` stops the first process in each role, PostgreSQL (which recovers from its log) and Redis (which loses every job), in random order. Each killed process restarts after 0.5 to 3 seconds. The second process in each role keeps running, so that its memory can be measured.',
        'At the end, the test searches PostgreSQL for every id that recalld accepted with 202. *Lost* ids are missing, and *duplicated* ids exist more than once. For live queries, *processed* is the sum of the query counts that recalld stored per minute; for golden runs, *processed* is the number of runs in which every query has one result list. Two golden runs for the same scheduled time would also count as duplicates. The whole test ran on one small, busy machine. The latencies include requests that were sent while a process was down.',
        ...found.flatMap(sectionOf),
      ],
    ),
  ];
}

function sectionOf(result: SoakResult): string[] {
  const { provenance, queue, kills, refusals } = result;
  const killed = Object.entries(kills).map(([part, times]) => `${part} ${times}`);
  const sentAgain = Object.values(refusals).reduce((sum, count) => sum + count, 0);
  return [
    `## ${titles[queue]}`,
    `Measured by ${code(provenance.command)} (seed ${provenance.seed}) on ${provenance.date} (${provenance.machine}, Node.js ${provenance.node}). Number of kills: ${killed.join(', ')}. ${sentAgain} requests got no response, or a response with status 503.`,
    table(ledgerHead, ledgerRows(result)),
    table(['Request', 'Responses', 'p50, ms', 'p99, ms'], latencyRows(result)),
    table(['Resident set', 'After a quarter, MB', 'At the end, MB'], memoryRows(result)),
  ];
}
