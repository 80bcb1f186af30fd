/**
 * An OpenID Connect provider (oidc-provider) in a separate process, so that its clock can differ. The first argument
 * contains the settings as JSON. The provider signs with new keys after each start.
 */
import { generateKeyPairSync } from 'node:crypto';

const { port, issuer, redirectUri, signedOutUri, aheadSeconds, idTokenSeconds, claimsIn, groups, secret } = JSON.parse(
  process.argv[2],
);

const RealDate = Date;
globalThis.Date = class Date extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + aheadSeconds * 1000] : args));
  }
  static now() {
    return RealDate.now() + aheadSeconds * 1000;
  }
};

const { Provider } = await import('oidc-provider');
const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'recalld',
      client_secret: secret,
      redirect_uris: [redirectUri],
      post_logout_redirect_uris: [signedOutUri],
    },
  ],
  jwks: { keys: [{ ...key, use: 'sig', alg: 'RS256' }] },
  cookies: { keys: ['only for tests'] },
  claims: { openid: ['sub'], email: ['email'], profile: ['name'], groups: ['groups'] },
  // By default, only the userinfo endpoint returns the claims of a scope.
  conformIdTokenClaims: claimsIn === 'userinfo',
  ttl: { IdToken: idTokenSeconds, Grant: 600, Session: 600, Interaction: 600, AccessToken: 600 },
  pkce: { required: () => true },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: async () => ({ sub: id, email: `${id}@example.com`, name: id, groups: groups[id] }),
  }),
  // Users are not asked for consent, because the administrator has given it.
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope('openid email profile groups');
    await grant.save();
    return grant;
  },
});

provider.on('server_error', (_context, error) => process.stderr.write(`${error.stack}\n`));
provider.listen(port, () => process.stdout.write('listening\n'));
