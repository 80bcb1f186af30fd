/** Config for signing in to the console: an OpenID Connect provider, or a proxy that authenticates users. */
import { z } from 'zod';
import { proxySchema, textSchema, timeoutSchema, tlsSchema } from '../config/connection.ts';

const groups = z.array(textSchema.max(500)).max(100).default([]);

const rolesSchema = z
  .strictObject({
    admin: groups.describe(
      'Groups whose members have the same access as a key with the `admin` scope: they can view pages and make changes.',
    ),
    read: groups.describe(
      'Groups whose members have the same access as a key with the `read` scope: they can view pages.',
    ),
  })
  .refine(({ admin, read }) => admin.length + read.length > 0, {
    error: 'names no group, so no user could sign in; add groups under `admin` or `read`',
  })
  .describe(
    'Groups that grant a role. A user with several roles gets the highest one; recalld rejects a user without a role.',
  );

/** The groups that grant each role. */
export type Roles = z.infer<typeof rolesSchema>;

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

function isUsableIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash, username } = new URL(text);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && loopback.has(hostname));
  return isSafe && search === '' && hash === '' && username === '';
}

export const oidcSchema = z
  .strictObject({
    issuer: z
      .string()
      .refine(isUsableIssuer, {
        error: 'must be an https:// URL without a query; http:// is allowed only for a provider on this machine',
      })
      .describe('Issuer of the provider, exactly as in its discovery document.')
      .meta({ secret: 'url' }),
    client_id: textSchema.describe('Client id of recalld at the provider.'),
    client_secret: textSchema.describe('Client secret of recalld at the provider.').meta({ secret: 'all' }),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, { error: 'must be a scope name without spaces' }))
      .min(1)
      .max(20)
      .default(['openid', 'profile', 'email'])
      .refine((scopes) => scopes.includes('openid'), { error: 'must contain openid' })
      .describe('Requested scopes. Some providers send groups only with a scope such as `groups`.'),
    groups_claim: textSchema
      .default('groups')
      .describe(
        "Claim that contains the user's groups, as a list or a single name. recalld reads the claim from the ID token or, if the token lacks the claim, from the userinfo endpoint. A path with dots selects a nested claim, such as `realm_access.roles`.",
      ),
    roles: rolesSchema,
    session_minutes: z
      .int()
      .min(5)
      .max(1440)
      .default(60)
      .describe(
        'Duration of a session, in minutes. When the session ends, the browser signs in again, usually without a prompt, so a user who left a group loses access within this time.',
      ),
    tls: tlsSchema,
    proxy: proxySchema,
    timeout_ms: timeoutSchema.default(5000),
  })
  .optional()
  .describe(
    'Sign-in to the console through an OpenID Connect provider (authorization code flow with PKCE, state and nonce). Requires `alerts.console_base_url`. With this section, recalld requires API keys even on a loopback address.',
  );

export type OidcConfig = NonNullable<z.infer<typeof oidcSchema>>;

const headerName = z.string().regex(/^[A-Za-z][A-Za-z0-9-]*$/, { error: 'must be the name of an HTTP header' });

export const authProxySchema = z
  .strictObject({
    user_header: headerName.describe("Header that contains the user's name, such as `X-Forwarded-Email`."),
    groups_header: headerName.describe("Header that contains the user's groups, such as `X-Forwarded-Groups`."),
    groups_separator: z.string().length(1).default(',').describe('Character between groups.'),
    roles: rolesSchema,
  })
  .optional()
  .describe(
    'Sign-in to the console through headers that a proxy in `trusted_proxies` sets. The proxy must remove these headers from the requests of its clients. recalld ignores these headers in requests from other addresses.',
  );

export type AuthProxyConfig = NonNullable<z.infer<typeof authProxySchema>>;

export interface SignInConfig {
  readonly server: {
    readonly trusted_proxies: readonly string[];
    readonly oidc?: OidcConfig | undefined;
    readonly auth_proxy?: AuthProxyConfig | undefined;
  };
  readonly alerts: { readonly console_base_url: string | null };
}

/** Rejects sign-in settings that would not let any user sign in. */
export function refuseUnusableSignIn({ server, alerts }: SignInConfig, context: z.core.$RefinementCtx): void {
  // Checks nothing if other problems were already reported, so that a misspelled key is not also reported as missing.
  if (context.issues.length > 0) return;
  const refuse = (key: string, message: string) => context.addIssue({ code: 'custom', path: ['server', key], message });
  if (server.oidc !== undefined && alerts.console_base_url === null)
    refuse('oidc', 'needs `alerts.console_base_url`, because the provider sends users back to that address');
  if (server.auth_proxy !== undefined && server.trusted_proxies.length === 0)
    refuse(
      'auth_proxy',
      'needs `server.trusted_proxies`, because only these proxies may name a user; add the address of the proxy',
    );
}
