import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { commandSettings } from '../../src/app/commands/command-store.ts';
import { withSimulatedDaemon } from '../../src/app/simulated-daemon.ts';
import { systemClock } from '../../src/core/system-clock.ts';
import { HOUR_MS } from '../../src/core/time.ts';
import { startScript, withFolder } from './child.ts';
import { sendLoad } from './http-load.ts';
import { liveQuery } from './live-config.ts';
import { figure, type MeasureRow } from './row.ts';

const PER_DAY = 200;
const ROUNDS_PER_DAY = 24;
const DAY_SECONDS = 86_400;
/** Share of a CPU above which the hourly round would be noticeable. */
const VISIBLE = 0.001;

/** Compares the ingest of live queries during the hourly round of a judge with the ingest between rounds. */
export const judging: MeasureRow = async (quick) => {
  const outside = await startScript('bare-judge.ts');
  try {
    return await withFolder(async (folder) => {
      const file = path.join(folder, 'recalld.yaml');
      writeFileSync(file, judgedConfig(outside.url, folder));
      let aheadMs = 0;
      const clock = { ...systemClock, now: () => new Date(Date.now() + aheadMs) };
      return withSimulatedDaemon(commandSettings(file, new AbortController().signal), clock, async (lapse) => {
        const seconds = quick ? 0.3 : 5;
        const send = () =>
          sendLoad({
            url: lapse.url,
            path: '/v1/queries',
            connections: 32,
            pauseMs: 20,
            seconds,
            body: () => liveQuery(),
          });
        // The first round and the first load are not measured: no earlier round precedes the first round, and the first
        // load warms up the daemon.
        await lapse.run('judge-live-traffic');
        await send();
        const [rates, judgedRates, slow, judgedSlow, costs] = [[], [], [], [], []] as number[][] as [
          number[],
          number[],
          number[],
          number[],
          number[],
        ];
        for (let round = 0; round < (quick ? 1 : 6); round++) {
          aheadMs += HOUR_MS;
          const alone = async (): Promise<void> => {
            const { requestsPerSecond, p99Ms } = await send();
            rates.push(requestsPerSecond);
            slow.push(p99Ms);
          };
          const judged = async (): Promise<void> => {
            const [{ requestsPerSecond, p99Ms }] = await Promise.all([send(), lapse.run('judge-live-traffic')]);
            judgedRates.push(requestsPerSecond);
            judgedSlow.push(p99Ms);
          };
          for (const part of round % 2 === 0 ? [alone, judged] : [judged, alone]) await part();
          aheadMs += HOUR_MS;
          costs.push(await cpuSeconds(() => lapse.run('judge-live-traffic')));
        }
        const graded = (await lapse.db.measurements.latest(clock.now())).find(
          ({ measure }) => measure === 'judged_queries',
        );
        if (graded?.newest == null || graded.newest.value < rates.length) throw new Error('Nothing was graded.');
        const cost = figure('CPU time of a round alone', 's', costs);
        const share = (cost.median * ROUNDS_PER_DAY) / DAY_SECONDS;
        return {
          row: `judging ${PER_DAY} live queries a day`,
          name: 'judging',
          figures: [
            figure('ingest alone', 'requests/s', rates),
            figure('ingest during an hourly round', 'requests/s', judgedRates),
            figure('p99 of ingest alone', 'ms', slow),
            figure('p99 of ingest during an hourly round', 'ms', judgedSlow),
            cost,
          ],
          bars: [
            {
              what: 'CPU time of the daily rounds relative to a day',
              value: share,
              side: 'at most',
              limit: VISIBLE,
              unit: 'of one processor',
            },
          ],
          notes: [
            `Once an hour, a round samples ${(PER_DAY / ROUNDS_PER_DAY).toFixed(0)} queries, fetches the texts of their documents, has five documents of each graded, and measures the week. The judge responds at once, so that the round has no pauses. Sender, daemon and PostgreSQL share the processors.`,
          ],
        };
      });
    });
  } finally {
    await outside.stop();
  }
};

async function cpuSeconds(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function judgedConfig(url: string, folder: string): string {
  return `
server: {port: 0, max_requests_per_minute: 100000000}
storage: {url: embedded, data_dir: ${JSON.stringify(path.join(folder, 'data'))}}
log: {level: error}
llm: {base_url: "${url}/v1", model: bare, max_per_second: 1000, price_per_million_tokens: {input: 0.4, output: 1.6}}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${url}/search", results: {list: results, id: id, score: score, text: text}}
    sampling: {rate: 0.1, max_per_minute: 100000000}
    judged: {queries_per_day: ${PER_DAY}}
`;
}
