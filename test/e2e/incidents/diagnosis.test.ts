/**
 * Tests the path from a golden run that fires an alert to the cause of the alert: over HTTP, in metrics, and on the
 * command line.
 */
import { expect, it, onTestFinished } from 'vitest';
import type { PipelineDiagnosis } from '../../../src/incidents/diagnosis/diagnose-pipeline.ts';
import type { IncidentJson } from '../../../src/incidents/diagnosis/incident-schema.ts';
import type { OverviewJson } from '../../../src/report/status/read-status.ts';
import { documents, startFaultServer, status } from '../../support/fault-server.ts';
import { anInstallation } from '../../support/installation.ts';
import { seriesValue } from '../../support/recalld.ts';
import { waitFor } from '../../support/wait-for.ts';
import { aConfig, aGoldenCsv, rightAnswer } from '../golden-files.ts';

it('recalld reports that the retriever is down during the outage, and that no alerts fire afterwards', async () => {
  const retriever = await startFaultServer(documents(rightAnswer));
  onTestFinished(() => retriever.close());
  const checks = '[{measure: ndcg@10, below: 0.9, severity: critical}]';
  const { recalld, json, serve } = await anInstallation({
    'recalld.yaml': aConfig({ url: retriever.url, checks }),
    'faq.csv': aGoldenCsv(40),
  });
  const { call: api, metrics } = await serve();
  expect(await recalld('golden import faq.csv --set faq')).toMatchObject({ code: 0 });

  const goldenRun = async (): Promise<string> => {
    const started = await api('POST', '/v1/golden-runs', { pipeline: 'docs', golden_set: 'faq' });
    const { run_id: id } = started.json as { run_id: string };
    await waitFor(async () => {
      const { json } = await api('GET', `/v1/golden-runs/${id}`);
      return json['status'] !== 'running';
    });
    return id;
  };
  const latest = async (): Promise<IncidentJson | undefined> => {
    const { json } = await api('GET', '/v1/incidents?pipeline=docs&limit=1');
    return (json['items'] as IncidentJson[])[0];
  };

  const good = await goldenRun();
  expect(await latest()).toBeUndefined();

  retriever.respondWith(status(503));
  const failed = await goldenRun();
  await waitFor(latest);
  expect(await latest()).toMatchObject({
    pipeline: 'docs',
    cause: 'retriever_outage',
    confidence: 'medium',
    closed_at: null,
    run_id: failed,
    reference_run_id: good,
    summary: expect.stringMatching(/\d+ of 40 golden queries failed/) as string,
  });
  const series = 'recalld_diagnosis_info{pipeline="docs",cause="retriever_outage",confidence="medium"}';
  await waitFor(async () => seriesValue(await metrics(), series) === 1);

  const diagnosed = await recalld('diagnose');
  expect(diagnosed.stdout).toContain('Likely cause: the retriever is down (medium confidence');
  expect(diagnosed.stdout).toContain(`recalld runs compare ${good} ${failed}`);
  expect(diagnosed).toMatchObject({ code: 1, stderr: '' });
  const [found] = await json<PipelineDiagnosis[]>('diagnose');
  expect(found).toMatchObject({ pipeline: 'docs', now: { cause: 'retriever_outage' } });
  const glance = await recalld('status --json');
  const [overview] = JSON.parse(glance.stdout) as OverviewJson[];
  expect({ code: glance.code, overview }).toMatchObject({
    code: 1,
    overview: { pipeline: 'docs', state: 'critical', diagnosis: found?.now?.summary },
  });
  expect((await recalld('status')).stdout).toContain('the retriever is down');

  retriever.respondWith(documents(rightAnswer));
  await goldenRun();
  await waitFor(async () => (await latest())?.closed_at != null);
  const over = await recalld('diagnose');
  expect(over).toMatchObject({ code: 0, stdout: expect.stringContaining('no alerts firing') as string });
});
