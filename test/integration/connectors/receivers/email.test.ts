import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEmail } from '../../../../src/connectors/receivers/email.ts';
import type { Receiver } from '../../../../src/connectors/receivers/receiver.ts';
import { messageOf } from '../../../../src/incidents/notifications/rules/message.ts';
import { anIncident } from '../../../support/builders.ts';

const never = new AbortController().signal;
const message = messageOf(anIncident(), 'opened', 'https://recalld.example.org', 'secret', new Uint8Array([137, 80]));

/** A real SMTP server on loopback, and a receiver that sends to it. */
async function aReceiver(
  options: SMTPServerOptions = {},
  config: Partial<Parameters<typeof createEmail>[0]> = {},
): Promise<{ readonly receiver: Receiver; readonly mails: { readonly to: string[]; readonly raw: string }[] }> {
  const mails: { to: string[]; raw: string }[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
        });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  onTestFinished(() => new Promise((closed) => server.close(() => closed())));
  const { port } = server.server.address() as AddressInfo;
  const receiver = createEmail(
    {
      kind: 'email',
      url: `smtp://127.0.0.1:${port}`,
      from: 'recalld@example.org',
      to: ['oncall@example.org', 'lead@example.org'],
      min_severity: 'critical',
      ...config,
    },
    'notify[0]',
  );
  onTestFinished(() => receiver.close());
  return { receiver, mails };
}

describe('the e-mail receiver', () => {
  it('delivers one message to all recipients, with text, HTML and the chart', async () => {
    const { receiver, mails } = await aReceiver();
    expect(await receiver.send(message, never)).toBeNull();
    expect(mails).toHaveLength(1);
    expect(mails[0]?.to).toEqual(['oncall@example.org', 'lead@example.org']);
    expect(mails[0]?.raw).toMatch(/^Subject: Critical: docs: retriever down \(HTTP 503\)\r$/m);
    for (const type of ['text/plain', 'text/html', 'image/png'])
      expect(mails[0]?.raw).toContain(`Content-Type: ${type}`);
  });

  it('names the config key of recipients that the server refuses', async () => {
    const { receiver } = await aReceiver({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('lead') ? Object.assign(new Error('no such user'), { responseCode: 550 }) : null),
    });
    expect(await receiver.send(message, never)).toContain('notify[0].to');
  });

  it('sends no password to a server without TLS', async () => {
    const passwords: unknown[] = [];
    const { receiver, mails } = await aReceiver(
      {
        allowInsecureAuth: true,
        onAuth: ({ password }, _session, done) => {
          passwords.push(password);
          done(null, { user: 'u' });
        },
      },
      { username: 'u', password: 's3cret' },
    );
    const problem = await receiver.send(message, never);
    expect(problem).toContain('notify[0].url');
    expect(problem).not.toContain('s3cret');
    expect([passwords, mails]).toEqual([[], []]);
  });

  it('reports that a server cannot be reached, and names the config key of its address', async () => {
    const { receiver } = await aReceiver({}, { url: 'smtp://127.0.0.1:1' });
    expect(await receiver.send(message, never)).toMatch(/could not be reached .*notify\[0\]\.url/);
  });
});
