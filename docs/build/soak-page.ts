/** docs/explanation/soak.md: what the last soaks came to, from the result files that they wrote. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { latencyRows, ledgerHead, ledgerRows, memoryRows, type SoakResult } from '../../bench/soak/report.ts';
import { code, generatedPage, type Page, table } from './page.ts';

const results = path.resolve(import.meta.dirname, '../../bench/results');
const titles = { postgres: 'Jobs in PostgreSQL', redis: 'Jobs in Redis' } as const;

/** The page, or none while nothing was measured. */
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
        '# Soak',
        'Six processes, two of each role, share one PostgreSQL and one queue. Clients send live queries, feedback and OpenTelemetry spans, each again until it is answered 202; others read every page, scrape `/metrics` and start golden runs, and a schedule starts more. Meanwhile parts are killed at random with `kill -9` and come back after 0.5 to 3 seconds: the first process of a role, PostgreSQL, which then recovers from its log, and Redis, which then has forgotten every job. The second process of each role is left alone, so that its memory can be told.',
        'In the end every id that was answered 202 is looked up in PostgreSQL. *Lost* is what is not there, *duplicated* what is there more than once. *Processed* is, for live queries, what the stored counts of minutes add up to, and for golden runs those that were scored with one answer for each query; a tick that had two runs would be a duplicate. Rows that are stored and not accepted would be a client that was stopped before its answer; clients bring their last batch home. The latencies are those of a busy small machine that runs the clients, the databases and everything else, and include what came back while a part was down.',
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
    `${code(provenance.command)} (seed ${provenance.seed}), ${provenance.date}, ${provenance.machine}, Node.js ${provenance.node}. Killed: ${killed.join(', ')}. Requests without an answer or told to come again: ${sentAgain}.`,
    table(ledgerHead, ledgerRows(result)),
    table(['Request', 'answered', 'p50, ms', 'p99, ms'], latencyRows(result)),
    table(['Resident set', 'a quarter in, MB', 'at the end, MB'], memoryRows(result)),
  ];
}
