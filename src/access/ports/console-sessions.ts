import type { ApiKey } from './api-keys.ts';

/** Who is signed in at the console; only the hashes of their cookies are stored, and times are those of the database. */
export interface ConsoleSessions {
  /** Begins a session of the key. Its token is the answer and nowhere else, ever. */
  begin(keyId: string, lifetimeSeconds: number): Promise<string>;
  /** The key that the session of this token was begun with; null when it has ended or the key is revoked. Sees both at once. */
  find(token: string): Promise<ApiKey | null>;
  end(token: string): Promise<void>;
  /** Deletes what has run out. */
  prune(): Promise<void>;
}
