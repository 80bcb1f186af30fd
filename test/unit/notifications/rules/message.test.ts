import { describe, expect, it } from 'vitest';
import { messageOf, pagerdutyBody, slackBody, webhookBody } from '../../../../src/notifications/rules/message.ts';
import { anIncident, NOON } from '../../../support/builders.ts';

const incident = anIncident();
const link = 'https://recalld.example.org/incidents/7';
const summaries = new Map([
  ['RecalldRetrieverNotAnswering', 'The retriever of {{ $labels.pipeline }} does not answer.'],
]);
const settings = { consoleUrl: 'https://recalld.example.org/', summaries };
const alone = { consoleUrl: null, summaries };

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
      summary: 'The retriever of docs does not answer.',
      description: expect.stringContaining('100.0 % of the queries of the latest run of faq failed') as string,
      diagnosis: expect.stringMatching(/^Likely cause: the retriever is down \(high confidence\)\. \w/) as string,
      console_url: link,
      runbook_url: 'https://recalld.example.org/runbooks/RecalldRetrieverNotAnswering',
    });
  });

  it('says that the cause is not yet known before the second look, and leaves out a link that is not configured', () => {
    const message = messageOf(anIncident({ settledAt: null }), 'opened', alone);
    expect(message).toMatchObject({ diagnosis: 'Cause not yet known.', link: null });
    expect(webhookBody(message)).not.toHaveProperty('console_url');
    expect(JSON.stringify([slackBody(message), pagerdutyBody(message, null)])).not.toContain('http');
  });

  it('has what differs most where the cause is unknown, but no topic in words of users', () => {
    const sign = { from: null, n: null, state: 'fell' } as const;
    const supporting = [
      { ...sign, name: 'topics', state: 'new_demand', sentence: 'Nobody asked about "visas" before.' } as const,
      { ...sign, name: 'score', sentence: 'ndcg@10 fell: -0.200.' } as const,
    ];
    const ranked = [{ cause: 'unknown', probability: 0.6, supporting, opposing: [] }] as const;
    const { diagnosis } = messageOf(anIncident({ cause: 'unknown', confidence: 'low', ranked }), 'opened', alone);
    expect(diagnosis).toContain('Cause unknown. ndcg@10 fell: -0.200. Compare');
    expect(diagnosis).not.toContain('visas');
  });

  it('has a cause for each thing that fires, where one cause cannot bring about all', () => {
    const slow = { cause: 'retriever_slow', confidence: 'medium', probability: 0.8, effects: ['latency'] } as const;
    const { diagnosis } = messageOf(anIncident({ cause: 'index_lost_documents', also: [slow] }), 'opened', alone);
    expect(diagnosis).toContain('Likely cause: documents are gone from the index (high confidence).');
    expect(diagnosis).toContain('Likely cause of the slow answers: the retriever is slow (medium confidence).');
  });

  it('has one summary while the incident lasts', () => {
    const of = (event: 'opened' | 'closed') => messageOf(incident, event, alone).summary;
    expect(of('closed')).toBe(of('opened'));
  });

  it('escapes for Slack what it would take for a link or a mention', () => {
    const [alarm] = incident.course;
    if (alarm === undefined) throw new Error('the builder makes one alarm');
    const worst = { ...alarm.worst, text: '<!channel> a & b' };
    const body = JSON.stringify(
      slackBody(messageOf({ ...incident, course: [{ ...alarm, worst }] }, 'opened', settings)),
    );
    expect(body).toContain('&lt;!channel&gt; a &amp; b');
    expect(body).toContain(`<${link}|The incident>`);
  });

  it('says how long it took when it is over', () => {
    const over = anIncident({ closedAt: new Date(NOON.getTime() + 12 * 60_000) });
    expect(slackBody(messageOf(over, 'closed', alone))).toMatchObject({
      text: expect.stringMatching(/^\*Resolved: The retriever of docs does not answer\.\* It took 12 min\./) as string,
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
      links: [{ href: link }, { text: 'The runbook' }],
    });
    expect(closed).toEqual({ routing_key: 'R0', event_action: 'resolve', dedup_key: key });
  });
});
