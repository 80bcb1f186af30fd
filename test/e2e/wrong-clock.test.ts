/**
 * A daemon on a machine with a wrong clock reports the wrong clock, starts no scheduled work, and continues once the
 * clock is correct.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { documents, startFaultServer } from '../support/fault-server.ts';
import { aDatabase, aFolder, logLines, runRecalld, seriesValue, startRecalld } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';
import { aConfig, aGoldenCsv, rightAnswer } from './golden-files.ts';

const HOURS_2 = 7200;

/** Module that sets the clock of its process ahead by the number of seconds in the neighboring file `ahead-seconds`. */
const SKEWED_CLOCK = `
import { readFileSync } from 'node:fs';
const file = new URL('./ahead-seconds', import.meta.url);
const RealDate = Date;
let aheadMs = 0;
const read = () => { aheadMs = 1000 * Number(readFileSync(file, 'utf8')); };
read();
setInterval(read, 200).unref();
globalThis.Date = class Date extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + aheadMs] : args));
  }
  static now() { return RealDate.now() + aheadMs; }
};
`;

it('a daemon whose clock is two hours off reports the skew, and schedules no run until the clock is correct', async () => {
  const retriever = await startFaultServer(documents(rightAnswer));
  onTestFinished(() => retriever.close());
  const folder = await aFolder({
    'recalld.yaml': aConfig({ url: retriever.url, golden: 'cron: "*/2 * * * * *"' }),
    'faq.csv': aGoldenCsv(4),
    'skewed-clock.mjs': SKEWED_CLOCK,
    'ahead-seconds': `${HOURS_2}`,
  });
  const imported = await runRecalld(['golden', 'import', 'faq.csv', '--set', 'faq'], folder);
  expect(imported, imported.stderr).toMatchObject({ code: 0 });
  const daemon = await startRecalld(['serve'], folder, {
    NODE_OPTIONS: `--import=${path.join(folder, 'skewed-clock.mjs')}`,
  });
  const set = (seconds: number): Promise<void> => writeFile(path.join(folder, 'ahead-seconds'), `${seconds}`);
  const degraded = async (): Promise<{ name: string; reason: string }[]> => {
    const response = await fetch(`${daemon.url}/readyz`);
    expect(response.status).toBe(200);
    return ((await response.json()) as { degraded: { name: string; reason: string }[] }).degraded;
  };
  const skew = async (): Promise<number> => {
    const page = await (await fetch(`${daemon.url}/metrics`)).text();
    return Math.round((seriesValue(page, 'recalld_clock_skew_seconds') ?? Number.NaN) / 60);
  };
  const database = await aDatabase(folder);
  const runs = async () => {
    const { rows } = await database.query<{ total: number; ahead: number; ended: number; backwards: number }>(
      `select count(*)::integer as total, count(finished_at)::integer as ended,
              count(*) filter (where scheduled_for > clock_timestamp())::integer as ahead,
              count(*) filter (where finished_at < started_at)::integer as backwards
         from golden_runs`,
    );
    return rows[0];
  };

  expect(await degraded()).toEqual([
    { name: 'clock', reason: expect.stringContaining('2 h ahead of the database clock') as string },
  ]);
  expect(await skew()).toBe(120);
  const wrong = logLines(daemon.stderr()).filter(({ event }) => event === 'clock_wrong');
  expect(wrong).toHaveLength(1);

  await set(0);
  await waitFor(async () => (await degraded()).length === 0);
  expect(Math.abs(await skew())).toBe(0);
  // If the scheduler had ticked before the clock was correct, the first runs would be two hours ahead.
  await waitFor(async () => ((await runs())?.ended ?? 0) >= 2);
  expect(await runs()).toMatchObject({ ahead: 0, backwards: 0 });

  await set(-HOURS_2);
  await waitFor(async () => (await degraded()).length === 1);
  const before = (await runs())?.total;
  const oldest = await database.query(
    `select 1 from golden_runs where scheduled_for < clock_timestamp() - interval '1 hour'`,
  );
  expect(oldest.rows).toEqual([]);
  await set(0);
  await waitFor(async () => (await degraded()).length === 0);
  await waitFor(async () => ((await runs())?.total ?? 0) > (before ?? 0));
  expect(await runs()).toMatchObject({ ahead: 0 });
  expect((await daemon.stop()).code).toBe(0);
}, 180_000);
