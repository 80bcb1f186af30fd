/** An embedded database that a config with a PostgreSQL elsewhere leaves behind. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { clusterOf } from '../postgres/embedded/data-dir.ts';
import type { Config } from './config/schema.ts';

/** What to say of it, and how its data are moved; null when there is none. */
export function leftBehind({ storage }: Pick<Config, 'storage'>): string | null {
  if (storage.url === 'embedded') return null;
  const cluster = clusterOf(path.resolve(storage.data_dir));
  if (!existsSync(path.join(cluster, 'PG_VERSION'))) return null;
  return `${storage.data_dir} holds an embedded database that this config does not use; deploy/postgres/move-embedded.sh copies it into the PostgreSQL of storage.url, as deploy/README.md tells. Once that is done, or not wanted, remove the folder.`;
}
