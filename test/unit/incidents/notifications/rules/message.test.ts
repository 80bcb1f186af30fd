import { describe, expect, it } from 'vitest';
import { pagerdutyBody } from '../../../../../src/connectors/receivers/pagerduty.ts';
import { slackBody } from '../../../../../src/connectors/receivers/slack.ts';
import { webhookBody } from '../../../../../src/connectors/receivers/webhook.ts';
import type { NotificationEvent } from '../../../../../src/core/notification.ts';
import { type Incident, updateTimelines } from '../../../../../src/incidents/diagnosis/rules/incident.ts';
import { chartPath, messageOf as makeMessage } from '../../../../../src/incidents/notifications/rules/message.ts';
import { anAlert, anIncident, NOON } from '../../../../support/builders.ts';

const messageOf = (of: Incident, event: NotificationEvent, console: string | null) =>
  makeMessage(of, event, console, 'secret');
const incident = anIncident();
const link = 'https://recalld.example.org/incidents/7';
const settings = 'https://recalld.example.org/';
const noConsole = null;
const later = (minutes: number) => new Date(NOON.getTime() + minutes * 60_000);

/** Returns an incident with one alert that was resolved after `minutes` minutes. */
function resolvedIncident(minutes: number, recovered: string | null, parts: Partial<Incident> = {}): Incident {
  const recoveries = new Map(recovered === null ? [] : [[anAlert().name, recovered]]);
  const timeline = updateTimelines(incident.timeline, [], later(minutes), recoveries);
  return anIncident({ closedAt: later(minutes), closedBecause: 'resolved', timeline, ...parts });
}

describe('the message of an incident', () => {
  it('states what is wrong with numbers, the likely cause, what to do, and links', () => {
    expect(webhookBody(messageOf(incident, 'opened', settings))).toEqual({
      version: 1,
      event: 'incident.opened',
      id: `recalld/docs/${NOON.toISOString()}/7/opened`,
      incident: {
        key: `recalld/docs/${NOON.toISOString()}/7`,
        pipeline: 'docs',
        severity: 'critical',
        opened_at: NOON.toISOString(),
        closed_at: null,
        closed_because: null,
      },
      summary: 'docs: retriever down (HTTP 503)',
      description: '100.0 % of the queries in the latest run of faq failed or timed out.',
      diagnosis: expect.stringMatching(/^Likely cause: the retriever is down \(high confidence\)\. \w/) as string,
      console_url: link,
      runbook_url: 'https://recalld.example.org/runbooks/RecalldRetrieverNotAnswering',
    });
  });

  it('names the evidence for the cause, but no topic, because topic names quote users', () => {
    const supporting = [
      { from: null, n: null, name: 'topics', state: 'lost_content', sentence: 'Topic "visa".' },
      { from: null, n: null, name: 'store_size', state: 'fell', sentence: '144 of 219 vectors remain.' },
    ] as const;
    const ranked = [{ cause: 'index_lost_documents', probability: 0.99, supporting, opposing: [] }] as const;
    const { diagnosis } = messageOf(anIncident({ cause: 'index_lost_documents', ranked }), 'opened', noConsole);
    expect(diagnosis).toContain('144 of 219 vectors remain.');
    expect(diagnosis).not.toContain('visa');
  });

  it('states that the cause is not yet known before the diagnosis, and omits a link that is not configured', () => {
    const message = messageOf(anIncident({ confirmedAt: null }), 'opened', noConsole);
    expect(message).toMatchObject({ diagnosis: 'Cause not yet known.', link: null });
    expect(webhookBody(message)).not.toHaveProperty('console_url');
    expect(JSON.stringify([slackBody(message), pagerdutyBody(message, null)])).not.toContain('http:');
  });

  it('states the largest difference if the cause is unknown, but no topic that quotes users', () => {
    const sign = { from: null, n: null, state: 'fell' } as const;
    const supporting = [
      { ...sign, name: 'topics', state: 'new_demand', sentence: 'Nobody asked about "visas" before.' } as const,
      { ...sign, name: 'score', sentence: 'ndcg@10 fell: -0.200.' } as const,
    ];
    const ranked = [{ cause: 'unknown', probability: 0.6, supporting, opposing: [] }] as const;
    const { diagnosis } = messageOf(anIncident({ cause: 'unknown', confidence: 'low', ranked }), 'opened', noConsole);
    expect(diagnosis).toContain('Cause unknown. ndcg@10 fell: -0.200. What to do: Check');
    expect(diagnosis).not.toContain('visas');
  });

  it('names a separate cause for alerts that the main cause cannot explain', () => {
    const slow = { cause: 'retriever_slow', confidence: 'medium', probability: 0.8, effects: ['latency'] } as const;
    const { diagnosis } = messageOf(anIncident({ cause: 'index_lost_documents', also: [slow] }), 'opened', noConsole);
    expect(diagnosis).toContain('Likely cause: documents missing from the index (high confidence).');
    expect(diagnosis).toContain('Likely cause of the slow responses: the retriever is slow (medium confidence).');
  });

  it('links the chart of a measured alert by a path that cannot be guessed, and no chart without a measure', () => {
    const measured = { measure: 'ndcg@10', segment: 'golden_set=faq' };
    const charted = anIncident({ timeline: updateTimelines([], [anAlert({ measured })], NOON) });
    const { chartLink } = messageOf(charted, 'opened', settings);
    expect(chartLink).toBe(`https://recalld.example.org${chartPath('7', 'secret')}`);
    expect(chartPath('7', 'another secret')).not.toBe(chartPath('7', 'secret'));
    expect(messageOf(charted, 'opened', noConsole).chartLink).toBeNull();
    expect(messageOf(incident, 'opened', settings).chartLink).toBeNull();
  });

  it('has a unique id for each follow-up, and the same id when a follow-up is sent again', () => {
    const [first, again, next] = [later(1), later(1), later(2)].map(
      (diagnosedAt) => messageOf(anIncident({ diagnosedAt }), 'updated', noConsole).id,
    );
    expect(first).toBe(again);
    expect(next).not.toBe(first);
  });

  it('states at the end the recovery and its duration, and does not describe the fault as ongoing', () => {
    const message = messageOf(resolvedIncident(120, 'nDCG@10 recovered to 0.82'), 'closed', settings);
    expect(message.summary).toBe('docs: nDCG@10 recovered to 0.82 after 2 h');
    expect(message.lines.join(' ')).toContain('Worst: retriever down (HTTP 503).');
    expect(JSON.stringify(message)).not.toContain(incident.timeline[0]?.worst.text);
    expect(message.lines.join(' ')).toContain(': fired from 2026-11-20 12:00 to 14:00 UTC.');
    expect(message.lines.join(' '), 'which the summary says').not.toContain('recovered');
    expect(message.diagnosis).toBe('Diagnosed cause: the retriever is down (high confidence).');
    expect(message.link).toBe(link);
  });

  it('states the recovery of each further alert on its own line', () => {
    const alerts = [anAlert(), anAlert({ name: 'another alert', headline: 'nDCG@10 0, below 0.7' })];
    const recoveries = new Map(alerts.map(({ name }) => [name, `${name} recovered`]));
    const timeline = updateTimelines(updateTimelines([], alerts, NOON), [], later(24 * 60), recoveries);
    const { lines } = messageOf(anIncident({ closedAt: later(24 * 60), timeline }), 'closed', noConsole);
    expect(lines.at(-1)).toBe(
      'another alert: fired from 2026-11-20 12:00 to 2026-11-21 12:00 UTC. Worst: nDCG@10 0, below 0.7. Now: another alert recovered.',
    );
  });

  it.each([
    [0.5, 'docs: all alerts resolved after 30 s'],
    [12, 'docs: all alerts resolved after 12 min'],
    [125, 'docs: all alerts resolved after 2 h 5 min'],
    [24 * 60, 'docs: all alerts resolved after 1 d'],
  ])('states only that all alerts resolved if no recovery was measured, after %f minutes', (minutes, summary) => {
    expect(messageOf(resolvedIncident(minutes, null), 'closed', noConsole).summary).toBe(summary);
  });

  it('does not claim that a removed check recovered', () => {
    const { summary } = messageOf(resolvedIncident(12, null, { closedBecause: 'left_config' }), 'closed', noConsole);
    expect(summary).toContain('closed after 12 min: the alerts were removed from the config');
    expect(summary).toContain('before they were resolved');
  });

  it('escapes text that Slack would interpret as a link or a mention', () => {
    const [alert] = incident.timeline;
    if (alert === undefined) throw new Error('the builder makes one alarm');
    const worst = { ...alert.worst, text: '<!channel> a & b' };
    const body = JSON.stringify(
      slackBody(messageOf({ ...incident, timeline: [{ ...alert, worst }] }, 'opened', settings)),
    );
    expect(body).toContain('&lt;!channel&gt; a &amp; b');
    expect(body).toContain(`<${link}|Incident>`);
  });

  it('starts with "Resolved" in Slack once the incident has resolved', () => {
    expect(slackBody(messageOf(resolvedIncident(12, 'MRR recovered to 0.9'), 'closed', noConsole))).toMatchObject({
      text: expect.stringMatching(/^\*Resolved: docs: MRR recovered to 0\.9 after 12 min\*/) as string,
    });
  });

  it('opens and resolves the same PagerDuty incident by a shared key', () => {
    const opened = pagerdutyBody(messageOf(incident, 'opened', settings), 'R0');
    const closed = pagerdutyBody(messageOf(incident, 'closed', settings), 'R0');
    const key = `recalld/docs/${NOON.toISOString()}/7`;
    expect(opened).toMatchObject({
      routing_key: 'R0',
      event_action: 'trigger',
      dedup_key: key,
      payload: { severity: 'critical', source: 'docs', timestamp: NOON.toISOString() },
      links: [{ href: link }, { text: 'Runbook' }],
    });
    expect(closed).toEqual({ routing_key: 'R0', event_action: 'resolve', dedup_key: key });
  });
});
