import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Reply } from '../../../src/client/connection.ts';
import { classifyReply } from '../../../src/client/delivery.ts';

const answer = (status: number, body: unknown = '', retryAfter: string | null = null): Reply => ({
  kind: 'answer',
  status,
  retryAfter,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

describe('a batch', () => {
  it.each([429, 502, 503, 504])('is retried after HTTP %d, at the time that the daemon requests', (status) => {
    expect(classifyReply(answer(status, '', '7'), 3)).toEqual({
      kind: 'retry',
      error: `HTTP ${status}`,
      retryAfter: '7',
    });
  });

  it('is retried if the daemon does not respond', () => {
    expect(classifyReply({ kind: 'failure', reason: 'ECONNRESET' }, 3)).toMatchObject({
      kind: 'retry',
      error: 'ECONNRESET',
    });
  });

  it.each([301, 400, 401, 403, 404, 405, 500, 501])('is dropped after HTTP %d', (status) => {
    expect(classifyReply(answer(status, 'no'), 3)).toEqual({
      kind: 'processed',
      rejected: new Map([[`http_${status}`, 3]]),
      duplicates: 0,
      error: `HTTP ${status}`,
    });
  });

  it('is split after HTTP 413 and sent without gzip after HTTP 415', () => {
    expect(classifyReply(answer(413), 3).kind).toBe('too_large');
    expect(classifyReply(answer(415), 3).kind).toBe('encoding_refused');
  });

  it('is accepted except for the rejected items, which are counted by code', () => {
    const body = {
      accepted: 2,
      duplicates: 1,
      rejected: [
        { index: 0, code: 'unknown_pipeline', message: '' },
        { index: 3, code: 'unknown_pipeline', message: '' },
        { index: 4, code: 'text_too_long', message: '' },
      ],
    };
    expect(classifyReply(answer(202, body), 5)).toEqual({
      kind: 'processed',
      rejected: new Map([
        ['unknown_pipeline', 2],
        ['text_too_long', 1],
      ]),
      duplicates: 1,
      error: null,
    });
  });

  it('is rejected as a whole after HTTP 422, with the codes of the answer', () => {
    const body = { rejected: [{ index: 0, code: 'invalid_field', message: '' }] };
    expect(classifyReply(answer(422, body), 2)).toMatchObject({
      kind: 'processed',
      rejected: new Map([
        ['invalid_field', 1],
        ['http_422', 1],
      ]),
    });
  });
});

it('classifyReply never counts more rejections than items, and limits the number of codes', () => {
  const rejection = fc.oneof(
    fc.record({ code: fc.oneof(fc.string(), fc.stringMatching(/^[a-z]{1,3}$/)) }),
    fc.jsonValue(),
  );
  const body = fc.oneof(
    fc.jsonValue(),
    fc.string(),
    fc.record({ rejected: fc.array(rejection, { maxLength: 80 }), duplicates: fc.jsonValue() }),
  );
  fc.assert(
    fc.property(fc.constantFrom(200, 202, 422), body, fc.integer({ min: 1, max: 60 }), (status, replyBody, items) => {
      const verdict = classifyReply(answer(status, replyBody), items);
      if (verdict.kind !== 'processed') throw new Error(verdict.kind);
      const refused = [...verdict.rejected.values()].reduce((sum, count) => sum + count, 0);
      expect(refused).toBeLessThanOrEqual(items);
      expect(verdict.rejected.size).toBeLessThanOrEqual(34);
      expect(verdict.duplicates).toBeLessThanOrEqual(items);
      expect(refused).toBeGreaterThanOrEqual(status === 422 ? items : 0);
    }),
  );
});
