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
const alone = null;
const later = (minutes: number) => new Date(NOON.getTime() + minutes * 60_000);

/** Returns an incident with one alert that was resolved after `minutes` minutes. */
function over(minutes: number, recovered: string | null, parts: Partial<Incident> = {}): Incident {
  const recoveries = new Map(recovered === null ? [] : [[anAlert().name, recovered]]);
  const timeline = updateTimelines(incident.timeline, [], later(minutes), recoveries);
  return anIncident({ closedAt: later(minutes), closedBecause: 'resolved', timeline, ...parts });
}

describe('the message of an incident', () => {
  it('has what holds with its numbers, the likely cause, what to do, and where to look', () => {
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

  it('names the evidence for the cause, but no topic, which is in words of users', () => {
    const supporting = [
      { from: null, n: null, name: 'topics', state: 'lost_content', sentence: 'Topic "visa".' },
      { from: null, n: null, name: 'store_size', state: 'fell', sentence: '144 of 219 vectors remain.' },
    ] as const;
    const ranked = [{ cause: 'index_lost_documents', probability: 0.99, supporting, opposing: [] }] as const;
    const { diagnosis } = messageOf(anIncident({ cause: 'index_lost_documents', ranked }), 'opened', alone);
    expect(diagnosis).toContain('144 of 219 vectors remain.');
    expect(diagnosis).not.toContain('visa');
  });

  it('says that the cause is not yet known before it is, and leaves out a link that is not configured', () => {
    const message = messageOf(anIncident({ confirmedAt: null }), 'opened', alone);
    expect(message).toMatchObject({ diagnosis: 'Cause not yet known.', link: null });
    expect(webhookBody(message)).not.toHaveProperty('console_url');
    expect(JSON.stringify([slackBody(message), pagerdutyBody(message, null)])).not.toContain('http:');
  });

  it('has what differs most where the cause is unknown, but no topic in words of users', () => {
    const sign = { from: null, n: null, state: 'fell' } as const;
    const supporting = [
      { ...sign, name: 'topics', state: 'new_demand', sentence: 'Nobody asked about "visas" before.' } as const,
      { ...sign, name: 'score', sentence: 'ndcg@10 fell: -0.200.' } as const,
    ];
    const ranked = [{ cause: 'unknown', probability: 0.6, supporting, opposing: [] }] as const;
    const { diagnosis } = messageOf(anIncident({ cause: 'unknown', confidence: 'low', ranked }), 'opened', alone);
    expect(diagnosis).toContain('Cause unknown. ndcg@10 fell: -0.200. What to do: Check');
    expect(diagnosis).not.toContain('visas');
  });

  it('has a cause for each thing that fires, where one cause cannot bring about all', () => {
    const slow = { cause: 'retriever_slow', confidence: 'medium', probability: 0.8, effects: ['latency'] } as const;
    const { diagnosis } = messageOf(anIncident({ cause: 'index_lost_documents', also: [slow] }), 'opened', alone);
    expect(diagnosis).toContain('Likely cause: documents missing from the index (high confidence).');
    expect(diagnosis).toContain('Likely cause of the slow responses: the retriever is slow (medium confidence).');
  });

  it('links the chart of a measured alert by a path that cannot be guessed, and none without a measure', () => {
    const measured = { measure: 'ndcg@10', segment: 'golden_set=faq' };
    const charted = anIncident({ timeline: updateTimelines([], [anAlert({ measured })], NOON) });
    const { chartLink } = messageOf(charted, 'opened', settings);
    expect(chartLink).toBe(`https://recalld.example.org${chartPath('7', 'secret')}`);
    expect(chartPath('7', 'another secret')).not.toBe(chartPath('7', 'secret'));
    expect(messageOf(charted, 'opened', alone).chartLink).toBeNull();
    expect(messageOf(incident, 'opened', settings).chartLink).toBeNull();
  });

  it('has an id of its own for each follow-up, which is the same when it is sent again', () => {
    const [first, again, next] = [later(1), later(1), later(2)].map(
      (diagnosedAt) => messageOf(anIncident({ diagnosedAt }), 'updated', alone).id,
    );
    expect(first).toBe(again);
    expect(next).not.toBe(first);
  });

  it('says at the end what it recovered to and after how long, and nothing as if the fault went on', () => {
    const message = messageOf(over(120, 'nDCG@10 recovered to 0.82'), 'closed', settings);
    expect(message.summary).toBe('docs: nDCG@10 recovered to 0.82 after 2 h');
    expect(message.lines.join(' ')).toContain('Worst: retriever down (HTTP 503).');
    expect(JSON.stringify(message)).not.toContain(incident.timeline[0]?.worst.text);
    expect(message.lines.join(' ')).toContain(': fired from 2026-11-20 12:00 to 14:00 UTC.');
    expect(message.lines.join(' '), 'which the summary says').not.toContain('recovered');
    expect(message.diagnosis).toBe('Diagnosed cause: the retriever is down (high confidence).');
    expect(message.link).toBe(link);
  });

  it('has the recovery of each further alert in its line', () => {
    const alerts = [anAlert(), anAlert({ name: 'another alert', headline: 'nDCG@10 0, below 0.7' })];
    const recoveries = new Map(alerts.map(({ name }) => [name, `${name} recovered`]));
    const timeline = updateTimelines(updateTimelines([], alerts, NOON), [], later(24 * 60), recoveries);
    const { lines } = messageOf(anIncident({ closedAt: later(24 * 60), timeline }), 'closed', alone);
    expect(lines.at(-1)).toBe(
      'another alert: fired from 2026-11-20 12:00 to 2026-11-21 12:00 UTC. Worst: nDCG@10 0, below 0.7. Now: another alert recovered.',
    );
  });

  it.each([
    [0.5, 'docs: all alerts resolved after 30 s'],
    [12, 'docs: all alerts resolved after 12 min'],
    [125, 'docs: all alerts resolved after 2 h 5 min'],
    [24 * 60, 'docs: all alerts resolved after 1 d'],
  ])('says so where nothing was measured at the end, after %f minutes', (minutes, summary) => {
    expect(messageOf(over(minutes, null), 'closed', alone).summary).toBe(summary);
  });

  it('does not claim that a removed check recovered', () => {
    const { summary } = messageOf(over(12, null, { closedBecause: 'left_config' }), 'closed', alone);
    expect(summary).toContain('closed after 12 min: the alerts were removed from the config');
    expect(summary).toContain('before they were resolved');
  });

  it('escapes for Slack what it would take for a link or a mention', () => {
    const [alert] = incident.timeline;
    if (alert === undefined) throw new Error('the builder makes one alarm');
    const worst = { ...alert.worst, text: '<!channel> a & b' };
    const body = JSON.stringify(
      slackBody(messageOf({ ...incident, timeline: [{ ...alert, worst }] }, 'opened', settings)),
    );
    expect(body).toContain('&lt;!channel&gt; a &amp; b');
    expect(body).toContain(`<${link}|Incident>`);
  });

  it('is resolved in Slack by its title', () => {
    expect(slackBody(messageOf(over(12, 'MRR recovered to 0.9'), 'closed', alone))).toMatchObject({
      text: expect.stringMatching(/^\*Resolved: docs: MRR recovered to 0\.9 after 12 min\*/) as string,
    });
  });

  it('opens and resolves one incident of PagerDuty by one key', () => {
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
