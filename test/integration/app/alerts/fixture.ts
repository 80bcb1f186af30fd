/** Fixtures of each alert: signals that violate its rule, and signals that do not. */
import type { Signal } from '../../../support/promtool.ts';

export interface AlertFixture {
  readonly alert: string;
  /** Labels of the alert, in addition to its name and severity. */
  readonly labels: Readonly<Record<string, string>>;
  /** Signals that violate the rule from the start. */
  readonly breaching: readonly Signal[];
  readonly healthy: readonly Signal[];
  /** Replicas that export the violation; both by default. */
  readonly replicas?: readonly string[];
  /** The description of the firing alert, without the time at its end. */
  readonly says: string;
  /** Number of simulated minutes; 60 by default, more if the rule has a longer range. */
  readonly minutes?: number;
  /** Minutes between samples and between evaluations, for long histories. */
  readonly step?: number;
  /** True if the alert fires when there are no series, because it detects missing series or always fires. */
  readonly firesWithoutSeries?: true;
}

export const both = ['a:8321', 'b:8321'] as const;

/**
 * Returns the last sentence of an alert's description, which states the time at which the description was last true.
 */
export function asOfMinute(minute: number): string {
  const [day = '', time = ''] = new Date(minute * 60_000).toISOString().split('T');
  return `As of ${time.slice(0, 5)} UTC on ${day}.`;
}
