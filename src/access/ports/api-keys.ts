import type { ApiScope } from '../api-key.ts';

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly ApiScope[];
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

/** A key with those who are signed in at the console with it. */
export interface ListedApiKey extends ApiKey {
  readonly sessions: number;
  /** When one of them last looked, to the minute; null when nobody is signed in. */
  readonly lastSeenAt: Date | null;
}

/** API keys; only their hashes are stored. */
export interface ApiKeys {
  /** The key that this text is, null when it is none or revoked. */
  find(text: string): Promise<ApiKey | null>;
  /** Makes a key. Its text is in the answer and nowhere else, ever. */
  create(
    name: string,
    scopes: readonly ApiScope[],
    now: Date,
  ): Promise<{ readonly key: ApiKey; readonly text: string }>;
  list(): Promise<readonly ListedApiKey[]>;
  /** Ends its console sessions with it. False when there is no such key. */
  revoke(id: string, now: Date): Promise<boolean>;
}
