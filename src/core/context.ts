/**
 * The parameter of use cases and jobs. Core knows no subject: each subject and the platform add their part to these
 * interfaces in their own `context.ts`, by declaration merging.
 */
import type { Logger } from './logger.ts';
import type { Clock } from './time.ts';

/** Tables and their queries, by subject. */
// biome-ignore lint/suspicious/noEmptyInterface: subjects add to it
export interface Db {}

/** Work of a later subject that an earlier one triggers; `app/` provides it. */
// biome-ignore lint/suspicious/noEmptyInterface: subjects add to it
export interface Hooks {}

export interface Context {
  readonly db: Db;
  /** The same tables on the replica while it answers, else on the primary. Their rows may lag behind. */
  readonly reads: Db;
  /** The tables for changes made by a person, whose name goes into the audit log. */
  readonly dbBy: (person: string) => Db;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Returns the same context with reads from the replica. */
export function onReplica(context: Context): Context {
  return { ...context, db: context.reads };
}
