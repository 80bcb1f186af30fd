/** Tests what recalld stores when it receives the exports of a Collector, which are live or recorded. */
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anInstallation, type Installation } from '../../support/installation.ts';
import { configOf, expected, type Stored, send, stored } from '../tracing/replay.ts';
import { otherNames } from './other-spans.ts';
import type { CollectorRecording } from './recording.ts';

/**
 * Returns the query and the error of a failed retrieval, because the Collector keeps only the failed trace, not the
 * other traces of the same session.
 */
const failure = ({ query, error }: Stored) => (error === null ? [] : [{ query, error }]);

export function describeCollector(
  programs: CollectorRecording['programs'],
  exported: () => Promise<CollectorRecording>,
): void {
  let collector: CollectorRecording;
  const installations: Installation[] = [];
  const messages: string[] = [];
  const cleanups: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    collector = await exported();
    for (const requests of [collector.requests, collector.errorsOnly]) {
      const installed = await anInstallation(
        { 'recalld.yaml': configOf(programs) },
        { atEnd: (clean) => void cleanups.unshift(clean) },
      );
      messages.push(...(await send({ requests }, await installed.serve())));
      installations.push(installed);
    }
  });
  afterAll(async () => {
    for (const clean of cleanups) await clean();
  });

  it.each(programs.map((program) => [program.name, program] as const))(
    'is stored as the retrievals of the program: %s',
    async (_, program) => {
      const [all, errorsOnly] = await Promise.all(installations.map((installed) => stored(program, installed)));
      expect(all).toEqual(expected(program));
      // RECALLD_KEEP_PERCENT=0 keeps traces with an error.
      expect(errorsOnly?.flatMap(failure)).toEqual(expected(program).flatMap(failure));
    },
  );

  it('contains fewer retrievals when only traces with an error are kept', async () => {
    const counts = installations.map(async ({ query }) => {
      const [row] = await query<{ count: number }>('select count(*)::int as count from live_queries');
      return row?.count ?? 0;
    });
    const [all = 0, errorsOnly = 0] = await Promise.all(counts);
    expect(errorsOnly).toBeGreaterThan(0);
    expect(errorsOnly).toBeLessThan(all / 2);
  });

  it('contains only spans that recalld reads', () => {
    const sent = collector.requests.map(({ body }) => gunzipSync(Buffer.from(body, 'base64')).toString('latin1'));
    expect(sent.join('')).toContain('retrieval');
    for (const name of otherNames) expect(sent.filter((text) => text.includes(name))).toEqual([]);
    expect(messages.filter((message) => message !== '')).toEqual([]);
  });
}
