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
  /** The whole description of the alert that fires. */
  readonly says: string;
  /** Minutes that are played; an hour unless the rule looks further back. */
  readonly minutes?: number;
  /** Minutes between samples and between evaluations, for long histories. */
  readonly step?: number;
  /** It is about absence, so that it fires when there is nothing, or always. */
  readonly firesWithoutSeries?: true;
}

export const both = ['a:8321', 'b:8321'] as const;
