/** Users whom a provider or a proxy authenticated, and the scopes that their groups grant. */
import { RecalldError } from '../../core/errors.ts';
import type { Roles } from './config.ts';

export interface User {
  /** Permanent id of the user: the subject at the provider, or the name that a proxy sends. */
  readonly id: string;
  /** Name shown to people. */
  readonly name: string;
  readonly groups: readonly string[];
}

/** Returns the API key scopes that the groups grant. */
export function scopesOf(groups: readonly string[], { admin, read }: Roles): readonly ('admin' | 'read')[] {
  if (groups.some((group) => admin.includes(group))) return ['admin'];
  return groups.some((group) => read.includes(group)) ? ['read'] : [];
}

/** Returns the groups that grant a role. recalld does not store any other groups of a user. */
export function grantingGroups(groups: readonly string[], { admin, read }: Roles): string[] {
  return [...new Set(groups)].filter((group) => admin.includes(group) || read.includes(group));
}

/** Maximum number of groups listed in the message about a missing role. */
const MAX_LISTED = 20;

/**
 * @param source where the groups come from, such as "the claim groups"
 * @throws RecalldError role_missing, with the groups of the user
 */
export function assertHasRole({ name, groups }: Omit<User, 'id'>, roles: Roles, source: string): void {
  if (scopesOf(groups, roles).length > 0) return;
  const more = groups.length > MAX_LISTED ? ` and ${groups.length - MAX_LISTED} more` : '';
  const listed =
    groups.length === 0
      ? `${source} contains no groups`
      : `${source} contains ${groups.slice(0, MAX_LISTED).join(', ')}${more}, but no group that grants a role`;
  throw new RecalldError(
    'role_missing',
    `You are signed in as ${name}, but may not use recalld: ${listed}. Ask your recalld administrator to add you to a group that grants a role, or to add one of your groups to the config.`,
  );
}
