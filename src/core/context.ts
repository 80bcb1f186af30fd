/**
 * The parameter of use cases and jobs. Core is independent of all subjects: each subject and the platform add their
 * parts to these interfaces in their own `context.ts`, by declaration merging.
 */
import type { Logger } from './logger.ts';
import type { Clock } from './time.ts';

/** Tables and their queries, by subject. */
// biome-ignore lint/suspicious/noEmptyInterface: subjects add to it
export interface Db {}

/** Work in a later subject that an earlier subject triggers; `app/` provides it. */
// biome-ignore lint/suspicious/noEmptyInterface: subjects add to it
export interface Hooks {}

/** What an API key with `--pipelines` may see and change; null means everything. */
export type Scope = {
  /** Pipelines of the key, and their shadows. */
  readonly pipelines: readonly string[];
  /** Golden sets that a pipeline of the key uses, and that it may therefore read. */
  readonly goldenSets: readonly string[];
  /** Golden sets that only pipelines of the key use, and that it may therefore change. */
  readonly ownGoldenSets: readonly string[];
} | null;

export interface Context {
  readonly db: Db;
  /** The same tables on the replica while it responds, otherwise on the primary. Rows on the replica may lag. */
  readonly reads: Db;
  /** The tables for changes made by a person, whose name is recorded in the audit log. */
  readonly dbBy: (person: string) => Db;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Returns the same context, but with reads from the replica. */
export function onReplica(context: Context): Context {
  return { ...context, db: context.reads };
}
