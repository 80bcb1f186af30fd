/** E-mail through an SMTP server. */
import { createHash } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { z } from 'zod';
import type { Message } from '../../core/notification.ts';
import { textSchema } from '../../platform/config/connection.ts';
import { linksOf, minSeverity, type Receiver, receiverId, titleOf } from './receiver.ts';

const address = z.email({ error: 'must be an e-mail address, such as oncall@example.org' });

export const emailSchema = z
  .strictObject({
    kind: z.literal('email').describe('E-mail through an SMTP server.'),
    url: z
      .string()
      .regex(/^smtps?:\/\/[^\s/@]+\/?$/, {
        error: 'must be smtp://host:port or smtps://host:port, with the password in `password`',
        abort: true,
      })
      .refine((text) => URL.canParse(text), { error: 'is not a valid URL; check its host and port' })
      .describe('URL of the SMTP server: smtp://host:587 (STARTTLS) or smtps://host:465 (TLS).')
      .meta({ secret: 'url' }),
    username: textSchema.optional().describe('User name for the SMTP server. By default, recalld does not sign in.'),
    password: textSchema
      .optional()
      .describe('Password for the SMTP server. recalld sends it only over TLS.')
      .meta({ secret: 'all' }),
    from: address.describe('Address of the sender.'),
    to: z.array(address).min(1).describe('Addresses of the recipients.'),
    min_severity: minSeverity,
  })
  .refine(({ username, password }) => (username === undefined) === (password === undefined), {
    error: 'needs both `username` and `password`, or neither',
  })
  .describe('Recipients of e-mail.');

const TIMEOUT_MS = 10_000;

export function createEmail(config: z.infer<typeof emailSchema>, field: string): Receiver {
  const { kind, url, username, password, from, to } = config;
  const { host, hostname, port, protocol } = new URL(url);
  const isSecure = protocol === 'smtps:';
  const transport = createTransport({
    // The brackets around an IPv6 address are part of the URL syntax, not of the host.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isSecure ? 465 : 587) : Number(port),
    secure: isSecure,
    ...(username === undefined || password === undefined
      ? {}
      : { auth: { user: username, pass: password }, requireTLS: true }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    id: receiverId(kind, url, to),
    kind,
    field,
    minSeverity: config.min_severity,
    takesUpdates: false,
    attachesChart: true,
    close: () => transport.close(),
    async send(message, signal) {
      signal.throwIfAborted();
      try {
        const { rejected } = await transport.sendMail({ from, to, ...emailBody(message) });
        if (rejected.length === 0) return null;
        return `The SMTP server (${host}) refused ${rejected.length} of ${to.length} recipients: check ${field}.to.`;
      } catch (error) {
        return problemIn(error as SmtpError, host, field);
      }
    },
  };
}

/** A nodemailer error with its code and the server's reply code. */
interface SmtpError extends Error {
  readonly code?: string;
  readonly responseCode?: number;
}

/** Describes an SMTP error, but omits the text of the server's reply, which may quote addresses. */
function problemIn({ code, responseCode, message }: SmtpError, host: string, field: string): string {
  const server = `The SMTP server (${host})`;
  const reply = responseCode === undefined ? '' : ` with code ${responseCode}`;
  switch (code) {
    case 'EAUTH':
      return `${server} refused the sign-in${reply}: check ${field}.username and ${field}.password.`;
    case 'EENVELOPE':
      return `${server} refused the sender or all recipients${reply}: check ${field}.from and ${field}.to.`;
    case 'ETLS':
      return `${server} offers no usable TLS (${message}): check ${field}.url.`;
    case 'ETIMEDOUT':
      return `${server} did not respond within ${TIMEOUT_MS / 1000} s.`;
    case 'EDNS':
    case 'ECONNECTION':
    case 'ESOCKET':
      return `${server} could not be reached (${message}): check ${field}.url.`;
    case undefined:
    default:
      return `${server} did not accept the message${reply}${reply === '' ? ` (${message})` : ''}.`;
  }
}

const CHART = 'chart@recalld';

/** All messages about an incident form one thread, because each refers to the first message. */
export function emailBody(message: Message) {
  const { event, id, key, lines, diagnosis, chartPng } = message;
  const title = titleOf(message);
  const links = linksOf(message);
  const first = messageId(`${key}/opened`);
  const paragraphs = [...lines, diagnosis];
  return {
    subject: title,
    messageId: event === 'opened' ? first : messageId(id),
    ...(event === 'opened' ? {} : { inReplyTo: first, references: first }),
    // Suppresses out-of-office replies.
    headers: { 'Auto-Submitted': 'auto-generated' },
    text: [...paragraphs, links.map(({ text, url }) => `${text}: ${url}`).join('\n')].filter(Boolean).join('\n\n'),
    html: [
      `<div style="max-width:680px;font:15px/1.5 Arial,Helvetica,sans-serif;color:#1b2330">`,
      `<h1 style="font-size:19px;line-height:1.3;margin:0 0 12px;color:${colorOf(message)}">${escape(title)}</h1>`,
      ...paragraphs.map((text) => `<p style="margin:0 0 12px">${escape(text)}</p>`),
      ...(chartPng === null
        ? []
        : [
            `<p style="margin:0 0 12px"><img src="cid:${CHART}" alt="The failing measure over time" width="680" style="max-width:100%;height:auto"></p>`,
          ]),
      `<p style="margin:0">${links.map(({ text, url }) => `<a href="${escape(url)}">${text}</a>`).join(' &middot; ')}</p>`,
      '</div>',
    ].join('\n'),
    attachments:
      chartPng === null
        ? []
        : [{ filename: 'chart.png', content: Buffer.from(chartPng), contentType: 'image/png', cid: CHART }],
  };
}

function colorOf({ event, severity }: Message): string {
  if (event === 'closed') return '#17683f';
  return severity === 'critical' ? '#b0202f' : '#7d4e00';
}

function messageId(of: string): string {
  return `<${createHash('sha256').update(of).digest('hex').slice(0, 32)}@recalld>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
