import { RecalldError } from '../../core/errors.ts';
import { signInProviderOf } from '../../platform/access/sign-in-provider.ts';
import type { Config } from '../config/schema.ts';
import type { Report } from './foundations.ts';

export async function examineSignIn(config: Config, report: Report): Promise<void> {
  const provider = signInProviderOf(config);
  const { oidc } = config.server;
  if (provider === null || oidc === undefined) return;
  const service = 'sign-in';
  const startedMs = performance.now();
  try {
    const metadata = (await provider.discover()).serverMetadata();
    const ms = performance.now() - startedMs;
    const signOut =
      metadata.end_session_endpoint === undefined
        ? 'The provider does not support sign-out, so signing out ends only the recalld session.'
        : `Register ${provider.signedOutUri} with the provider as a post-sign-out redirect URI.`;
    const message = `The discovery document of ${oidc.issuer} is valid. Register ${provider.redirectUri} with the provider as a redirect URI. ${signOut}`;
    report(service, 'ok', message, ms);
    const missing = oidc.scopes.filter((scope) => metadata.scopes_supported?.includes(scope) === false);
    if (missing.length > 0) {
      const text = `The provider does not list the scope ${missing.join(', ')} as supported; correct server.oidc.scopes if sign-in fails with invalid_scope.`;
      report(service, 'warning', text);
    }
    const [claim = ''] = oidc.groups_claim.split('.');
    const claims = metadata.claims_supported;
    if (Array.isArray(claims) && !claims.includes(claim)) {
      const text = `The provider does not list the claim ${claim} as supported, so users may have no groups; check server.oidc.groups_claim, or sign in to see which groups the provider sends.`;
      report(service, 'warning', text);
    }
    if (metadata.code_challenge_methods_supported?.includes('S256') !== true) {
      const text =
        'The provider does not list PKCE with S256 as supported. recalld uses PKCE anyway, and also protects sign-in with state and nonce.';
      report(service, 'warning', text);
    }
  } catch (error) {
    if (!(error instanceof RecalldError)) throw error;
    const status = error.kind === 'unreachable' ? 'unreachable' : 'wrong';
    report(service, status, error.message, performance.now() - startedMs);
  }
}
