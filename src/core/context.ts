/**
 * What use cases and jobs work with. Core knows no subject, so each subject and the platform add their part to these
 * interfaces in their own `context.ts`, by declaration merging.
 */
import type { Logger } from './logger.ts';
import type { Clock } from './time.ts';

/** Tables and their queries, by subject. */
// biome-ignore lint/suspicious/noEmptyInterface: subjects add to it
export interface Db {}

/** What a subject starts in a later one; `app/` makes them. */
// biome-ignore lint/suspicious/noEmptyInterface: subjects add to it
export interface Hooks {}

export interface Context {
  readonly db: Db;
  /** Reads what may lag behind: the replica while it answers, else the same as `db`. */
  readonly reads: Db;
  /** The tables for what a person changes, whom the audit log then names. */
  readonly dbBy: (person: string) => Db;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The same context, reading from the replica. */
export function onReplica(context: Context): Context {
  return { ...context, db: context.reads };
}
