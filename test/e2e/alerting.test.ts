/** From a broken retriever to the pager and back, through real Prometheus and Alertmanager. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AlertingStack, type Notification, startAlertingStack } from '../support/alerting-stack.ts';
import { documents, startFaultServer, status } from '../support/fault-server.ts';
import { anInstallation } from '../support/installation.ts';
import { missing } from '../support/promtool.ts';

import { waitFor } from '../support/wait-for.ts';
import { aConfig, aGoldenCsv, rightAnswer } from './golden-files.ts';

const PATIENCE = { timeoutMs: 90_000 };

const links = `
alerts: {runbook_base_url: "https://wiki.internal/runbooks", dashboard_base_url: "https://grafana.internal", console_base_url: "https://recalld.internal"}
`;

async function told(
  stack: AlertingStack,
  state: Notification['status'],
  alert: string,
  after = 0,
): Promise<Notification> {
  return waitFor(
    () =>
      stack
        .notifications()
        .slice(after)
        .findLast(({ status: seen, labels }) => seen === state && labels['alertname'] === alert),
    PATIENCE,
  );
}

const isMissing = missing('prometheus') || missing('prometheus-alertmanager');

describe.skipIf(isMissing)('the pager', () => {
  it('is told that the retriever broke, that it was mended, and that nobody measures any more', async () => {
    const retriever = await startFaultServer(documents(rightAnswer));
    onTestFinished(() => retriever.close());
    const config = aConfig({
      url: retriever.url,
      retriever: 'retries: 0',
      golden: 'cron: "*/2 * * * * *"',
      checks: '[{measure: ndcg@10, below: 0.8}]',
    });
    const { recalld, serve } = await anInstallation({
      'recalld.yaml': `${config}${links}`,
      'faq.csv': aGoldenCsv(10),
    });
    expect(await recalld('golden import faq.csv --set faq')).toMatchObject({ code: 0 });
    const rules = await recalld('rules');
    expect(rules).toMatchObject({ code: 0, stderr: '' });
    const daemon = await serve();
    const stack = await startAlertingStack(daemon.url, rules.stdout);
    await told(stack, 'firing', 'RecalldWatchdog');
    await waitFor(async () => /recalld_check_state\{[^}]*state="ok"\} 1/.test(await daemon.metrics()));

    retriever.respondWith(status(500));
    expect(await told(stack, 'firing', 'RecalldCheckCritical')).toMatchObject({
      labels: { severity: 'critical', pipeline: 'docs', check: 'ndcg@10 below 0.8 on faq' },
      annotations: {
        summary: 'Retrieval of docs is broken: ndcg@10 below 0.8 on faq.',
        runbook_url: 'https://wiki.internal/runbooks/RecalldCheckCritical.md',
        dashboard_url: 'https://grafana.internal/d/recalld-retrieval-health?var-pipeline=docs',
      },
    });
    expect(await told(stack, 'firing', 'RecalldRetrieverNotAnswering')).toMatchObject({
      annotations: {
        // The run that met the fault half-way fires it too.
        description: expect.stringMatching(
          /^\d+% of the queries of the latest run of faq on docs failed or timed out\.$/,
        ),
      },
    });

    retriever.respondWith(documents(rightAnswer));
    await told(stack, 'resolved', 'RecalldCheckCritical');
    await told(stack, 'resolved', 'RecalldRetrieverNotAnswering');

    await daemon.stop();
    const idle = await serve('--roles', 'api,worker');
    const before = stack.notifications().length;
    await stack.scrape(idle.url);
    expect(await told(stack, 'firing', 'RecalldGoldenNotRunning', before)).toMatchObject({
      labels: { severity: 'critical', pipeline: 'docs', golden_set: 'faq' },
      annotations: { summary: 'Golden set faq on docs is no longer run.' },
    });
    await idle.stop();
  }, 300_000);
});
