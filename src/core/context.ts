/**
 * The context that every use case and job receives. Core does not depend on any subject. Instead, the platform and each
 * subject extend these interfaces in their own `context.ts`, by declaration merging.
 */
import type { Logger } from './logger.ts';
import type { Clock } from './time.ts';

/** Database tables and the SQL queries that access them. Each subject adds its own tables. */
// biome-ignore lint/suspicious/noEmptyInterface: subjects add to it
export interface Db {}

/** Callbacks that let a subject trigger work in another subject without importing it; `app/` provides the callbacks. */
// biome-ignore lint/suspicious/noEmptyInterface: subjects add to it
export interface Hooks {}

/** Data that an API key may see and change, if the key was created with `--pipelines`; null means all data. */
export type Scope = {
  /** The pipelines named by the key, and their shadows. */
  readonly pipelines: readonly string[];
  /** Golden sets that at least one pipeline in `pipelines` uses; the key may read these sets. */
  readonly goldenSets: readonly string[];
  /** Golden sets that only pipelines in `pipelines` use; the key may change these sets. */
  readonly ownGoldenSets: readonly string[];
} | null;

export interface Context {
  readonly db: Db;
  /**
   * The tables of `db`, read from the replica while it responds and otherwise from the primary. The replica may lag.
   */
  readonly reads: Db;
  /** Returns the tables for changes made by a user, whose name the audit log records. */
  readonly dbBy: (person: string) => Db;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function onReplica(context: Context): Context {
  return { ...context, db: context.reads };
}
