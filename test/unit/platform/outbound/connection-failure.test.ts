import { describe, expect, it } from 'vitest';
import { classifyConnectionFailure } from '../../../../src/platform/outbound/exchange.ts';

function errorOf(code: string) {
  return Object.assign(new Error('message with a secret'), { code });
}

describe('a connection that fails', () => {
  it.each([
    ['ECONNREFUSED', 'connection_refused', true],
    ['ENOTFOUND', 'dns_not_found', true],
    ['EAI_AGAIN', 'dns_failed', true],
    ['ECONNRESET', 'connection_reset', true],
    ['EPIPE', 'connection_reset', true],
    ['EHOSTUNREACH', 'host_unreachable', true],
    ['ETIMEDOUT', 'timeout', false],
    ['EPROTO', 'tls_error', false],
    ['CERT_HAS_EXPIRED', 'tls_error', false],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_error', false],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_error', false],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_error', false],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_error', false],
    ['HPE_INVALID_CONSTANT', 'not_http', false],
    ['Z_DATA_ERROR', 'bad_encoding', false],
    ['EMFILE', 'connection_failed', true],
    ['', 'connection_failed', true],
  ])('with %j has the code %s', (code, expected, isRetryable) => {
    const failure = classifyConnectionFailure(errorOf(code));
    expect(failure).toMatchObject({ code: expected, isRetryable });
    expect(failure.problem).not.toContain('secret');
  });

  it('is classified even if the thrown value has no code or is not an error', () => {
    expect(classifyConnectionFailure(new Error('bare')).code).toBe('connection_failed');
    expect(classifyConnectionFailure('text').code).toBe('connection_failed');
  });
});
