/**
 * Sign-in at an OpenID Connect provider: authorization code with PKCE, state and nonce (openid-client). Every sign-in
 * reads the discovery document and the keys again, so that rotated keys and moved endpoints work immediately.
 */
import * as oidc from 'openid-client';
import { RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time.ts';
import { createExchange, type ExchangeTarget, proxyFor } from '../outbound/exchange.ts';
import { at, fieldAt, listOf, readTls, textOf } from '../outbound/json-api.ts';
import { sharedRun } from '../threads/wait.ts';
import type { OidcConfig, SignInConfig } from './config.ts';
import { assertHasRole, grantingGroups, type User } from './roles.ts';

const FIELD = 'server.oidc';
/** Accepted difference between the provider's clock and recalld's clock. */
const CLOCK_TOLERANCE_SECONDS = 60;
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
/** Maximum length of a user's name; longer names are truncated. */
const MAX_NAME = 200;

/** State that the browser stores during a sign-in at the provider. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export type SignInProvider = NonNullable<ReturnType<typeof signInProviderOf>>;

/** Returns the configured provider. @throws RecalldError config_invalid if its TLS files or its proxy cannot be used */
export function signInProviderOf({ server: { oidc: config }, alerts }: SignInConfig) {
  if (config === undefined) return null;
  const { roles, groups_claim: groupsClaim } = config;
  const issuer = new URL(config.issuer);
  const base = (alerts.console_base_url ?? '').replace(/\/+$/, '');
  const redirectUri = `${base}/sign-in/callback`;
  const signedOutUri = `${base}/sign-in`;
  const fetch = createFetch(config);
  let problem: string | null = null;
  let known: oidc.Configuration | null = null;

  /** @throws RecalldError sign_in_unavailable, sign_in_misconfigured */
  const discover = async (): Promise<oidc.Configuration> => {
    try {
      const found = await oidc.discovery(
        issuer,
        config.client_id,
        { client_secret: config.client_secret, [oidc.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
        authenticateClient(config.client_secret),
        {
          [oidc.customFetch]: fetch,
          timeout: config.timeout_ms / 1000,
          execute: [
            // Checks signatures, although the token comes directly from the provider.
            oidc.enableNonRepudiationChecks,
            ...(issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : []),
          ],
        },
      );
      const metadata = found.serverMetadata();
      const missing = (['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const).find(
        (name) => metadata[name] === undefined,
      );
      if (missing !== undefined) throw misconfigured(`its discovery document has no ${missing}`);
      [known, problem] = [found, null];
      return found;
    } catch (error) {
      const explained = explainDiscovery(error);
      problem = explained.message;
      throw explained;
    }
  };

  const misconfigured = (what: string): RecalldError =>
    new RecalldError('sign_in_misconfigured', `The sign-in provider ${config.issuer} cannot be used: ${what}.`);

  const explainDiscovery = (error: unknown): RecalldError => {
    const inner = recalldErrorIn(error);
    if (inner !== null) return inner;
    const { code, cause } = error as { readonly code?: string; readonly cause?: unknown };
    if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') {
      const found = textOf(at(cause, 'body', 'issuer')) ?? 'none';
      return misconfigured(
        `its discovery document names the issuer ${found.slice(0, MAX_NAME)}; set ${FIELD}.issuer to the issuer of your provider`,
      );
    }
    return misconfigured(`it returned no valid discovery document; check ${FIELD}.issuer`);
  };

  /** Sign-ins that start at the same time share one discovery. */
  const discoverOnce = sharedRun(discover);

  return {
    /** Name of the provider on the sign-in page. */
    label: issuer.host,
    roles,
    sessionSeconds: config.session_minutes * 60,
    redirectUri,
    signedOutUri,
    discover,

    /** Problem found by the last discovery; null if the discovery succeeded. */
    problem: (): string | null => problem,

    /**
     * Starts a sign-in: returns its state, and the URL at the provider that the browser must open.
     *
     * @throws RecalldError sign_in_unavailable
     */
    async begin(): Promise<SignInAttempt & { readonly url: string }> {
      const attempt = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
      };
      const url = oidc.buildAuthorizationUrl(known ?? (await discoverOnce()), {
        redirect_uri: redirectUri,
        scope: config.scopes.join(' '),
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
      });
      return { ...attempt, url: url.href };
    },

    /**
     * Returns the user who signed in, with the groups that grant a role.
     *
     * @param query query string of the URL that the provider redirected the browser to
     * @throws RecalldError sign_in_failed, sign_in_unavailable, role_missing
     */
    async finish(query: string, attempt: SignInAttempt): Promise<{ readonly user: User; readonly idToken: string }> {
      const provider = await discover();
      const { claims, idToken } = await exchangeCode(
        provider,
        new URL(`${redirectUri}?${query}`),
        attempt,
        groupsClaim,
      ).catch((error: unknown) => {
        throw explainFailure(error);
      });
      const id = textOf(claims['sub']) ?? '';
      const name =
        ['email', 'preferred_username', 'name', 'sub'].map((claim) => textOf(claims[claim])).find(Boolean) ?? id;
      const user = { id, name: name.slice(0, MAX_NAME), groups: groupsIn(fieldAt(claims, groupsClaim)) };
      assertHasRole(user, roles, `the claim ${groupsClaim}`);
      return { user: { ...user, groups: grantingGroups(user.groups, roles) }, idToken };
    },

    /** Returns the URL that ends the session at the provider; null if the provider offers none. */
    signOutUrl(idToken: string | null): string | null {
      if (known?.serverMetadata().end_session_endpoint === undefined) return null;
      return oidc.buildEndSessionUrl(known, {
        post_logout_redirect_uri: signedOutUri,
        ...(idToken === null ? {} : { id_token_hint: idToken }),
      }).href;
    },
  };
}

async function exchangeCode(
  provider: oidc.Configuration,
  url: URL,
  { state, nonce, verifier }: SignInAttempt,
  groupsClaim: string,
): Promise<{ readonly claims: Readonly<Record<string, unknown>>; readonly idToken: string }> {
  const tokens = await oidc.authorizationCodeGrant(provider, url, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  });
  const claims: Readonly<Record<string, unknown>> & { readonly sub?: string } = tokens.claims() ?? {};
  const idToken = tokens.id_token ?? '';
  const hasUserinfo = provider.serverMetadata().userinfo_endpoint !== undefined;
  if (fieldAt(claims, groupsClaim) !== undefined || !hasUserinfo) return { claims, idToken };
  const more = await oidc.fetchUserInfo(provider, tokens.access_token, claims.sub ?? '');
  return { claims: { ...more, ...claims }, idToken };
}

function groupsIn(claim: unknown): string[] {
  const items = typeof claim === 'string' ? [claim] : listOf(claim);
  return items.filter((item) => typeof item === 'string');
}

/**
 * Uses basic authentication if the provider offers it, or if the provider does not list its methods: basic
 * authentication is the default in the specification.
 */
function authenticateClient(secret: string): oidc.ClientAuth {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}

const again = 'Sign in again.';

function fail(message: string): RecalldError {
  return new RecalldError('sign_in_failed', message);
}

/** Explains why a sign-in failed. The message contains nothing from a token and no text from the provider. */
function explainFailure(error: unknown): RecalldError {
  const inner = recalldErrorIn(error);
  if (inner !== null) return inner;
  const {
    code = '',
    error: reason,
    cause,
  } = error as { readonly code?: string; readonly error?: string; readonly cause?: unknown };
  const known = reason === undefined ? null : /^[a-z_]{1,60}$/.test(reason) ? reason : 'an unknown error';
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    return fail(`The provider rejected the sign-in (${known}). ${again}`);
  if (known === 'invalid_grant')
    return fail(`The provider no longer accepts this sign-in: its code was used before or has expired. ${again}`);
  if (known === 'invalid_client' || known === 'unauthorized_client')
    return fail(
      `The provider does not accept recalld as a client (${known}); check ${FIELD}.client_id and ${FIELD}.client_secret.`,
    );
  if (known !== null) return fail(`The provider did not issue a token (${known}). ${again}`);
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED')
    return fail(
      `The ID token has expired, or the clocks of the provider and of recalld differ by more than ${CLOCK_TOLERANCE_SECONDS} s; correct the clocks.`,
    );
  if (code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED') {
    const claim = textOf(at(cause, 'cause', 'claim')) ?? 'a claim';
    return fail(`The ID token was not issued for this sign-in: its ${claim} differs. ${again}`);
  }
  if (code === 'OAUTH_KEY_SELECTION_FAILED')
    return fail(`The provider publishes no key that verifies its ID token. ${again}`);
  return fail(`The provider sent an invalid response${code === '' ? '' : ` (${code})`}. ${again}`);
}

/** Returns the RecalldError that an error from openid-client wraps; null if it wraps none. */
function recalldErrorIn(error: unknown): RecalldError | null {
  if (error instanceof RecalldError) return error;
  return error instanceof Error && error.cause !== undefined ? recalldErrorIn(error.cause) : null;
}

/**
 * Returns the function that sends openid-client's requests, with the TLS settings, the proxy and the timeout from the
 * config.
 */
function createFetch(config: OidcConfig): oidc.CustomFetch {
  const tls = readTls(config.tls, `${FIELD}.tls`);
  const open = (origin: string) => {
    const target: ExchangeTarget = {
      label: origin,
      isSecure: origin.startsWith('https:'),
      configField: FIELD,
      urlKey: 'issuer',
      suspects: { 404: 'issuer' },
      describeRedirect: () => 'the address to which it redirects',
    };
    const settings = { maxResponseBytes: MAX_RESPONSE_BYTES, ...(tls === undefined ? {} : { tls }) };
    return createExchange(target, { ...settings, proxy: proxyFor(config.proxy, origin) });
  };
  // An invalid proxy setting must cause an error at startup, not at the first sign-in.
  open(new URL(config.issuer).origin).close();
  return async (url, { method, headers, body, signal }) => {
    const { origin } = new URL(url);
    const exchange = open(origin);
    try {
      const sent = { url, method, headers, body: bodyOf(body), timeoutMs: config.timeout_ms };
      const result = await exchange.send(sent, signal ?? AbortSignal.timeout(config.timeout_ms));
      const type = { 'content-type': 'application/json' };
      if (result.kind === 'body')
        return new Response(result.text, { headers: { 'content-type': result.contentType ?? '' } });
      if (
        result.kind === 'failure' &&
        result.status !== null &&
        result.status >= 400 &&
        result.status < 500 &&
        result.text?.startsWith('{')
      )
        return new Response(result.text, { status: result.status, headers: type });
      const message =
        result.kind === 'timeout'
          ? `${origin} did not respond within ${config.timeout_ms} ms; raise ${FIELD}.timeout_ms or check the provider.`
          : result.message;
      const isAnswer = result.kind === 'failure' && result.status !== null && !result.isRetryable;
      throw new RecalldError(
        isAnswer ? 'sign_in_misconfigured' : 'sign_in_unavailable',
        `Sign-in with the provider is unavailable: ${message}`,
      );
    } finally {
      exchange.close();
    }
  };
}

function bodyOf(body: oidc.FetchBody): string | null {
  if (body === undefined || body === null) return null;
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString();
  throw new TypeError('openid-client sends only strings and form data');
}

const REFRESH_MS = 5 * 60_000;
const RETRY_MS = 30_000;

/**
 * Reads the discovery document now and every five minutes, until `signal` aborts. The daemon starts even if the
 * provider cannot be used. The log says when the provider becomes unusable and when it becomes usable again.
 */
export async function watchSignInProvider(
  provider: SignInProvider,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  let isFailing = false;
  while (!signal.aborted) {
    const reason = await provider.discover().then(
      () => null,
      (error: RecalldError) => error.message,
    );
    if (reason !== null && !isFailing) logger.error('the sign-in provider cannot be used', { reason });
    if (reason === null && isFailing) logger.info('the sign-in provider can be used again');
    isFailing = reason !== null;
    await clock.sleep(isFailing ? RETRY_MS : REFRESH_MS, signal).catch(() => undefined);
  }
}
