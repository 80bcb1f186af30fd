/** A regression check is blind if results differ so much between runs that it cannot detect the configured drop. */
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { documents, startFaultServer } from '../support/fault-server.ts';
import { anInstallation, type Installation } from '../support/installation.ts';
import { aConfig, aGoldenCsv, questionOf, rightAnswer } from './golden-files.ts';

const QUERIES = 40;

describe('a check that cannot detect the drop it monitors', () => {
  let installed: Installation;

  beforeEach(async () => {
    let asked = 0;
    // In each run, the relevant document is missing for a third of the queries, and for different queries than in the
    // run before.
    const retriever = await startFaultServer(
      documents((request) => {
        const run = Math.floor(asked++ / QUERIES);
        return (questionOf(request) + run) % 3 === 0 ? [{ id: 'elsewhere', score: 1 }] : rightAnswer(request);
      }),
    );
    onTestFinished(() => retriever.close());
    installed = await anInstallation({
      'recalld.yaml': aConfig({
        url: retriever.url,
        checks: '[{regression: hit_rate@10, drop: 0.02, severity: critical}]',
      }),
      'faq.csv': aGoldenCsv(QUERIES),
    });
    await installed.recalld('golden import faq.csv --set faq');
    const { run_id: baseline } = await installed.json<{ run_id: string }>('golden run --pipeline docs --set faq');
    await installed.recalld(`baselines pin ${baseline}`);
    await installed.recalld('golden run --pipeline docs --set faq');
  });

  it('is marked as blind by `recalld checks`, and `recalld config check` names the smallest drop that the check detects', async () => {
    const [check] =
      await installed.json<{ blind: boolean; verdict: string; smallest_detectable_drop: number }[]>('checks');
    expect(check).toMatchObject({ verdict: 'ok', blind: true });
    expect(check?.smallest_detectable_drop).toBeGreaterThan(0.04);

    const { stdout: table } = await installed.recalld('checks');
    expect(table).toContain('Blind');

    const { code, stdout, stderr } = await installed.recalld('config check');
    expect(code).toBe(0);
    expect(`${stdout}${stderr}`).toContain(
      `is blind: it detects only drops of ${check?.smallest_detectable_drop.toFixed(3)} or more`,
    );
  });
});
