/** What the shipped Alertmanager config holds back, and what it lets through, by a real Alertmanager. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { defaultRuleSettings, ruleGroups } from '../../../../src/app/alerts/rule-catalogue.ts';
import { startAlertmanager } from '../../../support/alerting-stack.ts';
import { missing } from '../../../support/promtool.ts';
import { waitFor } from '../../../support/wait-for.ts';

const shipped = parse(
  readFileSync(path.resolve(import.meta.dirname, '../../../../deploy/alertmanager/alertmanager.yml'), 'utf8'),
) as { readonly inhibit_rules: readonly object[] };

const severities = new Map(
  ruleGroups(defaultRuleSettings).flatMap(({ alerts }) => alerts.map(({ alert, severity }) => [alert, severity])),
);

interface Shown {
  readonly labels: Readonly<Record<string, string>>;
  readonly status: { readonly state: 'active' | 'suppressed' | 'unprocessed' };
}

/** The shipped inhibitions alone: its notifications go nowhere. */
const inhibiting = {
  route: { receiver: 'nobody', group_by: ['...'], group_wait: '0s' },
  receivers: [{ name: 'nobody' }],
  inhibit_rules: shipped.inhibit_rules,
};

/** Names of the alerts that are held back once all of them fire. */
async function heldBack(url: string, firing: readonly Readonly<Record<string, string>>[]): Promise<string[]> {
  const alerts = firing.map((labels) => ({
    labels: { severity: severities.get(labels['alertname'] ?? '') ?? '', ...labels },
  }));
  await fetch(`${url}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alerts),
  });
  const list = async () => (await (await fetch(`${url}/api/v2/alerts`)).json()) as Shown[];
  await waitFor(async () => {
    const shown = await list();
    return shown.length === firing.length && shown.every(({ status }) => status.state !== 'unprocessed');
  });
  return (await list())
    .filter(({ status }) => status.state === 'suppressed')
    .map(({ labels }) => labels['alertname'] ?? '')
    .toSorted();
}

describe.skipIf(missing('prometheus-alertmanager'))('Alertmanager', () => {
  it('tells of a page and not of the warnings that repeat it', async () => {
    const url = await startAlertmanager(inhibiting);
    const [docs, faq] = [{ pipeline: 'docs' }, { pipeline: 'docs', golden_set: 'faq' }];
    const floor = { ...docs, check: 'ndcg@10 below 0.8 on faq' };
    expect(
      await heldBack(url, [
        { alertname: 'RecalldCheckCritical', ...floor },
        { alertname: 'RecalldCheckWarning', ...floor },
        { alertname: 'RecalldCheckWarning', ...docs, check: 'mrr@10 below 0.5 on faq' },
        { alertname: 'RecalldDensityDrift', ...docs, check: 'density drift' },
        { alertname: 'RecalldDensityDriftTicket', ...docs },
        { alertname: 'RecalldDensityDriftTicket', pipeline: 'shop' },
        { alertname: 'RecalldGoldenNotRunning', ...faq },
        { alertname: 'RecalldScoresWithheld', ...faq },
        { alertname: 'RecalldSentinelOverdue', ...faq },
        { alertname: 'RecalldScoresWithheld', ...docs, golden_set: 'other' },
        { alertname: 'RecalldLiveNotAnswering', ...docs },
        { alertname: 'RecalldLiveErrors', ...docs },
      ]),
    ).toEqual([
      'RecalldCheckWarning',
      'RecalldDensityDriftTicket',
      'RecalldLiveErrors',
      'RecalldScoresWithheld',
      'RecalldSentinelOverdue',
    ]);
  });

  it('holds everything but the watchdog back while no recalld is reached', async () => {
    const url = await startAlertmanager(inhibiting);
    expect(
      await heldBack(url, [
        { alertname: 'RecalldAbsent' },
        { alertname: 'RecalldWatchdog' },
        { alertname: 'RecalldGoldenNotRunning', pipeline: 'docs', golden_set: 'faq' },
        { alertname: 'RecalldReplicaDown', instance: 'a' },
        { alertname: 'SomebodyElses' },
      ]),
    ).toEqual(['RecalldGoldenNotRunning', 'RecalldReplicaDown']);
  });
});
