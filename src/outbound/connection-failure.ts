/** Why a call did not come to an answer, as a short stable code. */

interface ConnectionFailure {
  /** `timeout` when the network itself gave up waiting. */
  readonly code: string;
  /** What happened, to be read behind the name of the service. */
  readonly problem: string;
  /** Whether a second attempt may fare better. */
  readonly isRetryable: boolean;
}

const RESET = {
  code: 'connection_reset',
  problem: 'closed the connection before the answer was complete',
  isRetryable: true,
};
const REFUSED = {
  code: 'connection_refused',
  problem: 'refuses connections; check that the service is up and the port is right',
  isRetryable: true,
};
const UNREACHABLE = {
  code: 'host_unreachable',
  problem: 'cannot be reached: there is no route to the host',
  isRetryable: true,
};
const TIMEOUT = { code: 'timeout', problem: 'did not answer in time', isRetryable: false };

const failures = new Map<string, ConnectionFailure>([
  ['ECONNREFUSED', REFUSED],
  ['ECONNRESET', RESET],
  ['EPIPE', RESET],
  ['ERR_STREAM_PREMATURE_CLOSE', RESET],
  ['EHOSTUNREACH', UNREACHABLE],
  ['ENETUNREACH', UNREACHABLE],
  ['EADDRNOTAVAIL', UNREACHABLE],
  ['ENOTFOUND', { code: 'dns_not_found', problem: 'has a host name that does not resolve', isRetryable: true }],
  ['EAI_AGAIN', { code: 'dns_failed', problem: 'cannot be looked up: DNS does not answer', isRetryable: true }],
  ['ETIMEDOUT', TIMEOUT],
]);

/**
 * Classifies what a request, or reading its body, threw. The text of the error is never shown, since it may repeat
 * what was sent; its code is.
 */
export function classifyConnectionFailure(error: unknown): ConnectionFailure {
  const code = errorCode(error);
  const known = failures.get(code);
  if (known !== undefined) return known;
  if (/^(EPROTO|ERR_SSL)/.test(code)) {
    const problem = `does not speak TLS as we do (${code}); check that the service is on https`;
    return { code: 'tls_error', problem, isRetryable: false };
  }
  if (/^(ERR_TLS|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_)/.test(code)) {
    const problem = `has a certificate that is not trusted (${code}); NODE_EXTRA_CA_CERTS can name its authority`;
    return { code: 'tls_error', problem, isRetryable: false };
  }
  if (code.startsWith('HPE_')) {
    return { code: 'not_http', problem: `answered something other than HTTP (${code})`, isRetryable: false };
  }
  if (/^Z_|^ERR_(_ERROR_|BROTLI|PADDING)/.test(code)) {
    return {
      code: 'bad_encoding',
      problem: `sent a body that cannot be decompressed (${code})`,
      isRetryable: false,
    };
  }
  const detail = code === '' ? '' : ` (${code})`;
  return { code: 'connection_failed', problem: `cannot be reached${detail}`, isRetryable: true };
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
