/** Tests the whole path from a broken retriever to notifications, without Alertmanager. */
import { expect, it, onTestFinished } from 'vitest';
import { documents, type FaultServer, json, startFaultServer, status } from '../support/fault-server.ts';
import { anInstallation } from '../support/installation.ts';
import { waitFor } from '../support/wait-for.ts';
import { aConfig, aGoldenCsv, rightAnswer } from './golden-files.ts';

async function aServer(answer: Parameters<typeof startFaultServer>[0]): Promise<FaultServer> {
  const server = await startFaultServer(answer);
  onTestFinished(() => server.close());
  return server;
}

const bodies = (server: FaultServer) => server.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);

it('the webhook is notified once when retrieval breaks and once when it recovers, even if the daemon is killed', async () => {
  const retriever = await aServer(documents(rightAnswer));
  const [webhook, slack, pagerduty, teams] = await Promise.all(
    [1, 2, 3, 4].map(() => aServer(json({ status: 'success' }))),
  );
  if (webhook === undefined || slack === undefined || pagerduty === undefined || teams === undefined)
    throw new Error('four are started');
  const config = aConfig({ url: retriever.url, checks: '[{measure: ndcg@10, below: 0.8}]' });
  const { recalld, serve, query } = await anInstallation({
    'recalld.yaml': `${config}
alerts: {console_base_url: https://recalld.example.org}
notify:
  - {kind: webhook, url: ${webhook.url}, headers: {authorization: Bearer of-the-hook}}
  - {kind: slack, url: ${slack.url}, min_severity: warning}
  - {kind: pagerduty, url: ${pagerduty.url}, routing_key: R0}
  - {kind: teams, url: ${teams.url}}
`,
    'faq.csv': aGoldenCsv(40),
  });
  expect(await recalld('notify')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('notify[2]: test message sent to pagerduty.') as string,
  });
  const tested = webhook.requests.length;
  expect(tested).toBe(2);

  const first = await serve();
  expect(await recalld('golden import faq.csv --set faq')).toMatchObject({ code: 0 });
  const run = (daemon: typeof first) => daemon.call('POST', '/v1/golden-runs', { pipeline: 'docs', golden_set: 'faq' });
  await run(first);
  await waitFor(async () => {
    const { json: listed } = await first.call('GET', '/v1/golden-runs?pipeline=docs');
    return (listed['items'] as { status: string }[])[0]?.status === 'completed';
  });
  retriever.respondWith(status(503));
  await run(first);
  // If the daemon dies before the delivery is recorded, the message is sent again.
  await waitFor(async () => (await query('select from notifications where sent_at is not null')).length === 4);
  first.child.kill('SIGKILL');
  await first.finished;

  retriever.respondWith(documents(rightAnswer));
  const second = await serve();
  await run(second);
  await waitFor(() => bodies(webhook).some(({ event }, index) => index >= tested && event === 'incident.closed'));
  await waitFor(() => bodies(slack).at(-1)?.['text']?.toString().startsWith('*Resolved') === true);
  await waitFor(() => bodies(teams).at(-1)?.['summary']?.toString().startsWith('Resolved') === true);
  await waitFor(() => bodies(pagerduty).at(-1)?.['event_action'] === 'resolve');

  const delivered = bodies(webhook).slice(tested);
  const ofEvents = delivered.map(({ event }) => event).filter((event) => event !== 'incident.updated');
  expect(ofEvents).toEqual(['incident.opened', 'incident.closed']);
  expect(webhook.requests.at(-1)?.headers.authorization).toBe('Bearer of-the-hook');
  expect(delivered[0]).toMatchObject({
    summary: 'docs: retriever down (HTTP 503)',
    description: expect.stringMatching(/100 % of the queries in the latest run of faq failed/) as string,
    diagnosis: expect.stringContaining('Likely cause: the retriever is down') as string,
    console_url: expect.stringMatching(/^https:\/\/recalld\.example\.org\/incidents\/\d+$/) as string,
  });
  const { pathname } = new URL(String(delivered[0]?.['chart_url']));
  expect((await fetch(`${second.url}${pathname}`)).headers.get('content-type')).toBe('image/png');
  expect(delivered.at(-1)?.['summary']).toMatch(
    /^docs: retriever responds again \(100 % of golden queries succeed\) after \d+ /,
  );
  expect(bodies(slack).at(-1)?.['text']).not.toContain('failed or timed out');
  const events = bodies(pagerduty).slice(tested);
  expect([events[0]?.['event_action'], events.at(-1)?.['event_action']]).toEqual(['trigger', 'resolve']);
  expect(new Set(events.map((event) => event['dedup_key'])).size).toBe(1);
  await second.stop();
}, 400_000);
