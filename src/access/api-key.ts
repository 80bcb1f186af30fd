/** API keys: what they look like and what they may do. */
export const apiScopes = ['ingest', 'read', 'admin'] as const;

export type ApiScope = (typeof apiScopes)[number];

/** Whether a key with these scopes may do what needs `scope`; admin may do everything. */
export function allows(scopes: readonly ApiScope[], scope: ApiScope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}

/** Keys begin with this, so that a key that leaked into a repository is recognised by scanners. */
export const API_KEY_PREFIX = 'rcl_';
