/** What each alert is tested with: a world that breaches its rule and one that does not. */
import type { Signal } from '../../../support/promtool.ts';

export interface AlertFixture {
  readonly alert: string;
  /** Labels of the alert beside its name and severity. */
  readonly labels: Readonly<Record<string, string>>;
  /** What is the case when it fires, from the beginning. */
  readonly breaching: readonly Signal[];
  readonly healthy: readonly Signal[];
  /** The replicas that export what breaches; both unless it is the trouble of one. */
  readonly replicas?: readonly string[];
  /** The description of the alert that fires, without the time that ends it. */
  readonly says: string;
  /** Minutes that are played; an hour unless the rule looks further back. */
  readonly minutes?: number;
  /** Minutes between samples and between evaluations, for long histories. */
  readonly step?: number;
  /** It is about absence, so that it fires when there is nothing, or always. */
  readonly firesWithoutSeries?: true;
}

export const both = ['a:8321', 'b:8321'] as const;

/** How a description ends that was last true at that minute. */
export function asOfMinute(minute: number): string {
  const [day = '', time = ''] = new Date(minute * 60_000).toISOString().split('T');
  return `As of ${time.slice(0, 5)} UTC on ${day}.`;
}
