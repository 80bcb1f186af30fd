import { describe, expect, it } from 'vitest';
import { emailBody } from '../../../../src/connectors/receivers/email.ts';
import { pagerdutyBody } from '../../../../src/connectors/receivers/pagerduty.ts';
import { notifySchema } from '../../../../src/connectors/receivers/registry.ts';
import { slackBody } from '../../../../src/connectors/receivers/slack.ts';
import { teamsBody } from '../../../../src/connectors/receivers/teams.ts';
import { webhookBody } from '../../../../src/connectors/receivers/webhook.ts';
import type { Message } from '../../../../src/core/notification.ts';
import { NOON } from '../../../support/builders.ts';

const console = 'https://recalld.example.org';

function aMessage(parts: Partial<Message> = {}): Message {
  return {
    event: 'opened',
    id: 'recalld/docs/7/opened',
    key: 'recalld/docs/7',
    pipeline: 'docs',
    severity: 'critical',
    openedAt: NOON,
    closedAt: null,
    closedBecause: null,
    summary: 'docs: nDCG@10 0.55, below 0.7',
    lines: ['ndcg@10 dropped from 0.82 to 0.55.', 'recall@10 dropped from 0.9 to 0.6.'],
    diagnosis: 'Likely cause: documents missing from the index. Re-run the indexing job.',
    link: `${console}/incidents/7`,
    runbook: `${console}/runbooks/RecalldCheckCritical`,
    chartLink: `${console}/charts/7-abc.png`,
    chartPng: null,
    ...parts,
  };
}

/** A string that exceeds every limit; each character has two UTF-16 code units, and four bytes in UTF-8. */
const long = '\u{1F534}'.repeat(5000);
const longMessage = aMessage({ summary: long, lines: [long, long], diagnosis: long });
const hasHalfCharacter = (body: object): boolean => !JSON.stringify(body).isWellFormed();

describe('a message in Slack', () => {
  it('has a header, the alerts, the cause and the links, and repeats them as text for notifications', () => {
    const { text, blocks } = slackBody(aMessage()) as {
      text: string;
      blocks: { type: string; text: { text: string } }[];
    };
    expect(blocks.map(({ type }) => type)).toEqual(['header', 'section', 'section', 'section']);
    expect(blocks[0]?.text.text).toBe('Critical: docs: nDCG@10 0.55, below 0.7');
    expect(blocks.at(-1)?.text.text).toContain(`<${console}/charts/7-abc.png|Chart>`);
    expect(text.split('\n')[0]).toBe('*Critical: docs: nDCG@10 0.55, below 0.7*');
    for (const { text: shown } of blocks.slice(1)) expect(text).toContain(shown.text);
  });

  it('stays within the limits of its blocks', () => {
    const { blocks } = slackBody(longMessage) as { blocks: { text: { text: string } }[] };
    const lengths = blocks.map(({ text }) => text.text.length);
    expect(lengths[0]).toBeLessThanOrEqual(150);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(3000);
    expect(hasHalfCharacter(blocks)).toBe(false);
  });

  it('has no empty block if there are no links and alerts', () => {
    const bare = slackBody(aMessage({ lines: [], link: null, runbook: null, chartLink: null }));
    expect(bare).toMatchObject({ blocks: [{ type: 'header' }, { type: 'section' }] });
  });
});

describe('a message in Microsoft Teams', () => {
  it('is an Adaptive Card with a button for each link', () => {
    const { attachments } = teamsBody(aMessage()) as { attachments: { contentType: string; content: object }[] };
    expect(attachments[0]?.contentType).toBe('application/vnd.microsoft.card.adaptive');
    expect(attachments[0]?.content).toMatchObject({
      type: 'AdaptiveCard',
      body: [{ inlines: [{ color: 'Attention' }] }, {}, {}],
      actions: [{ title: 'Incident' }, { title: 'Runbook' }, { title: 'Chart', url: `${console}/charts/7-abc.png` }],
    });
  });

  it('stays below 28 kB', () => {
    const body = teamsBody(longMessage);
    expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(28_000);
    expect(hasHalfCharacter(body)).toBe(false);
  });
});

describe('a PagerDuty event', () => {
  it('has the summary as its title, the alerts and the diagnosis as details, and the chart as an image', () => {
    expect(pagerdutyBody(aMessage(), 'R0')).toMatchObject({
      payload: {
        summary: 'docs: nDCG@10 0.55, below 0.7',
        custom_details: { alerts: expect.stringContaining('recall@10') as string },
      },
      client_url: `${console}/incidents/7`,
      images: [{ src: `${console}/charts/7-abc.png` }],
    });
  });

  it('omits an image at an address without TLS, which PagerDuty does not show', () => {
    expect(pagerdutyBody(aMessage({ chartLink: 'http://recalld.internal/charts/7-abc.png' }), 'R0')).toMatchObject({
      images: [],
    });
  });

  it('stays within the limits of its summary and its key', () => {
    const { payload, dedup_key: key } = pagerdutyBody(aMessage({ summary: long, key: long }), 'R0') as {
      payload: { summary: string };
      dedup_key: string;
    };
    expect(payload.summary.length).toBeLessThanOrEqual(1024);
    expect(key.length).toBeLessThanOrEqual(255);
  });
});

describe('an e-mail', () => {
  it('embeds the chart, and escapes markup in alert texts', () => {
    const { html, attachments } = emailBody(
      aMessage({ chartPng: new Uint8Array([1]), diagnosis: '<script>alert("x")</script> & more' }),
    );
    expect(attachments).toMatchObject([{ contentType: 'image/png' }]);
    expect(html).toContain(`src="cid:${attachments[0]?.cid}"`);
    expect(html).not.toContain('<script>');
    expect(html).toContain('&amp; more');
  });

  it('is in one thread with the other messages of its incident', () => {
    const opened = emailBody(aMessage());
    const closed = emailBody(aMessage({ event: 'closed', id: 'recalld/docs/7/closed' }));
    expect(opened).not.toHaveProperty('inReplyTo');
    expect(closed.inReplyTo).toBe(opened.messageId);
    expect(closed.messageId).not.toBe(opened.messageId);
    expect(closed.subject).toMatch(/^Resolved: /);
  });

  it('is configured with a server address, which must not contain a password', () => {
    const email = { kind: 'email', url: 'smtp://mail.example.org:587', from: 'a@example.org', to: ['b@example.org'] };
    const isAccepted = (parts: object): boolean => notifySchema.safeParse([{ ...email, ...parts }]).success;
    expect(isAccepted({})).toBe(true);
    expect(isAccepted({ username: 'u', password: 'p' })).toBe(true);
    expect(isAccepted({ username: 'u' })).toBe(false);
    expect(isAccepted({ url: 'smtp://u:p@mail.example.org' })).toBe(false);
    expect(isAccepted({ url: 'https://mail.example.org' })).toBe(false);
    expect(isAccepted({ to: [] })).toBe(false);
  });
});

describe('a message to a webhook', () => {
  it('links to the chart, and omits unknown links', () => {
    expect(webhookBody(aMessage())).toMatchObject({ chart_url: `${console}/charts/7-abc.png` });
    const bare = webhookBody(aMessage({ link: null, runbook: null, chartLink: null }));
    expect(Object.keys(bare).filter((key) => key.endsWith('_url'))).toEqual([]);
  });
});
