import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { RecalldError } from '../../../../src/core/errors.ts';
import { privacySchema } from '../../../../src/live/config.ts';
import { createPersonalData } from '../../../../src/live/privacy/personal-data.ts';
import { createRedactionThread } from '../../../../src/live/privacy/redaction-thread.ts';
import { createRedactor, textHash } from '../../../../src/live/privacy/rules/redactor.ts';
import type { LiveQuery } from '../../../../src/live/rules/live-query.ts';
import { aLiveQuery } from '../../../support/builders.ts';
import {
  type FaultServer,
  hang,
  json,
  type Responder,
  startFaultServer,
  status,
} from '../../../support/fault-server.ts';
import { recordLog } from '../../../support/log.ts';
import { MemoryMeter } from '../../../support/memory-telemetry.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';
import { aFeedback } from '../rules/feedback/builders.ts';

let server: FaultServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const thread = createRedactionThread();
afterAll(() => thread.close());

const key = 'key-of-the-hashes-0123456789';

const aQuery = (parts: Partial<LiveQuery> = {}) => aLiveQuery({ text: 'Is Ada ada@example.org in?', ...parts });

/** Redaction of personal data for the pipeline `docs`, with a simulated redaction service. */
async function aPrivacy(responder: Responder | null, privacy: object = {}, timeoutMs = 5000) {
  if (responder !== null) server = await startFaultServer(responder);
  const presidio = server === null ? {} : { presidio: { url: server.url, timeout_ms: timeoutMs } };
  const meter = new MemoryMeter();
  const { logger, entries } = recordLog();
  const clock = new SteerableClock();
  const personalData = createPersonalData({
    pipeline: 'docs',
    privacy: privacySchema.parse({ ...presidio, ...privacy }),
    key,
    thread,
    meter,
    logger,
    clock,
  });
  const outcomes = (): string[] => meter.increments.map(({ labels }) => labels['outcome'] ?? '');
  return { personalData, outcomes, entries, clock };
}

/** Detects every `Ada`, with offsets in code points, as Python counts them. */
const findsAda: Responder = (request, response) => {
  const { text } = JSON.parse(request.body) as { text: string };
  const characters = Array.from(text);
  const finds = characters.flatMap((_, start) =>
    characters.slice(start, start + 3).join('') === 'Ada'
      ? [{ entity_type: 'PERSON', start, end: start + 3, score: 0.9 }]
      : [],
  );
  json(finds)(request, response);
};

describe('a redaction service', () => {
  it('receives texts that the built-in rules have redacted, and its entities are redacted too', async () => {
    const { personalData, outcomes } = await aPrivacy(findsAda);
    const query = aQuery({ text: '😀 Is Ada ada@example.org in?', error: 'no index for Ada' });
    expect(await personalData.toPrivateQuery(query)).toMatchObject({
      text: '😀 Is [PERSON] [EMAIL] in?',
      textHash: null,
      error: 'no index for [PERSON]',
    });
    const comment = await personalData.toPrivateFeedback(aFeedback({ comment: 'Ada was kind' }));
    expect(comment).toMatchObject({ comment: '[PERSON] was kind' });
    expect(JSON.stringify(server?.requests)).not.toContain('ada@example.org');
    expect(outcomes()).toEqual(['ok', 'ok', 'ok']);
  });

  it.each<[string, Responder, string]>([
    ['fails', status(500), 'failed'],
    ['does not respond in time', hang(), 'timeout'],
    ['returns an invalid response', json({ entities: [] }), 'malformed'],
    ['reports an entity outside the text', json([{ entity_type: 'X', start: 0, end: 99, score: 1 }]), 'malformed'],
  ])('that %s leaves only a hash of the query text in storage', async (_what, responder, outcome) => {
    const { personalData, outcomes, entries } = await aPrivacy(responder, {}, outcome === 'timeout' ? 200 : 5000);
    const query = aQuery({ error: 'no index for Ada' });
    const [kept, feedback] = await Promise.all([
      personalData.toPrivateQuery(query),
      personalData.toPrivateFeedback(aFeedback({ comment: 'Ada was kind' })),
    ]);
    expect(kept).toMatchObject({
      text: null,
      textHash: textHash(query.text ?? '', key),
      error: '[REDACTED]',
    });
    expect(feedback.comment).toBeNull();
    expect(outcomes()).toEqual([outcome, outcome, outcome]);
    expect(JSON.stringify(entries)).not.toContain('Ada');
  });

  it('that is down is logged at most once a minute', async () => {
    const { personalData, entries, clock } = await aPrivacy(status(500));
    for (let i = 0; i < 5; i++) await personalData.toPrivateQuery(aQuery());
    expect(entries).toMatchObject([
      { level: 'warn', fields: { pipeline: 'docs', reason: expect.stringContaining('500') } },
    ]);
    await clock.advance(60_000);
    await personalData.toPrivateQuery(aQuery());
    expect(entries).toHaveLength(2);
  });

  it('is not called for empty texts', async () => {
    const { personalData } = await aPrivacy(findsAda);
    const kept = await Promise.all([null, '', ' '].map((text) => personalData.toPrivateQuery(aQuery({ text }))));
    expect(kept.map(({ text, textHash: hash }) => [text, hash])).toEqual([
      [null, null],
      ['', null],
      [' ', null],
    ]);
    expect(server?.requests).toEqual([]);
  });
});

describe('without a redaction service', () => {
  it.each([
    ['redact', 'Is Ada [EMAIL] in?', '[EMAIL] has no index', false],
    ['keep', 'Is Ada ada@example.org in?', '[EMAIL] has no index', false],
    ['hash', null, null, true],
  ])('texts are stored according to the mode %s', async (mode, text, error, isHashed) => {
    const { personalData, outcomes } = await aPrivacy(null, { text: mode });
    const kept = await personalData.toPrivateQuery(aQuery({ error: 'ada@example.org has no index' }));
    expect(kept).toMatchObject({ text, error });
    expect(kept.textHash !== null).toBe(isHashed);
    expect(outcomes()).toEqual([]);
  });
});

describe('a long text', () => {
  const long = `Is ada@example.org in? ${'1.1.1.1 and card '.repeat(6000)} T-1234`;

  it('is redacted in a thread with the same result', async () => {
    const patterns = [{ name: 'ticket', regex: 'T-[0-9]{4}' }];
    const { personalData } = await aPrivacy(null, { patterns });
    const redact = createRedactor(patterns);
    const kept = await personalData.toPrivateQuery(aQuery({ text: long, error: long }));
    expect(kept.text).toBe(redact(long));
    expect(kept.text?.endsWith('[TICKET]')).toBe(true);
    expect(kept.error).toBe(kept.text);
  });

  it('is rejected as overloaded when the queue is full', async () => {
    const { personalData } = await aPrivacy(null);
    const sent = await Promise.allSettled(
      Array.from({ length: 2100 }, () => personalData.toPrivateQuery(aQuery({ text: 'a'.repeat(20_001) }))),
    );
    const refused = sent.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect(refused.length).toBeGreaterThan(0);
    for (const reason of refused) {
      expect(reason).toBeInstanceOf(RecalldError);
      expect(reason).toMatchObject({ code: 'overloaded', retryable: true });
    }
  });
});

describe('the config of a redaction service', () => {
  it.each(['hash', 'keep'])('is rejected in the mode %s, where it has no effect', (mode) => {
    const parsed = privacySchema.safeParse({ text: mode, presidio: { url: 'http://presidio' } });
    expect(parsed.error?.issues).toMatchObject([
      { path: ['presidio'], message: `has no effect if text is ${mode}; set text to redact, or remove this field` },
    ]);
  });
});
