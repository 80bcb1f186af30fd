import type { ApiScope } from '../core/api-key.ts';

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly ApiScope[];
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

/** API keys; only their hashes are stored. */
export interface ApiKeys {
  /** The key that this text is, null when it is none or revoked. A revocation is seen within seconds everywhere. */
  find(text: string): Promise<ApiKey | null>;
  /** The key of that id, null when there is none or it is revoked; seen likewise. */
  findById(id: string): Promise<ApiKey | null>;
  /** Makes a key. Its text is in the answer and nowhere else, ever. */
  create(
    name: string,
    scopes: readonly ApiScope[],
    now: Date,
  ): Promise<{ readonly key: ApiKey; readonly text: string }>;
  list(): Promise<readonly ApiKey[]>;
  /** False when there is no such key. */
  revoke(id: string, now: Date): Promise<boolean>;
}
