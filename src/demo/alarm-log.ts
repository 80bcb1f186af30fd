/** What was in alarm during the story: what came to be, after how much, and whether the fault of that time explains it. */
import type { Severity } from '../model.ts';

/** How much the daemon has seen since the story began. */
export interface Seen {
  readonly hours: number;
  readonly goldenRuns: number;
  readonly liveQueries: number;
}

export interface OpenAlarm {
  readonly name: string;
  readonly severity: Severity;
  readonly text: string;
}

/** A fault while it is in place, with the alarms that it brings about. */
export interface KnownFault {
  readonly name: string;
  readonly alarms: readonly string[];
}

export interface RaisedAlarm extends OpenAlarm {
  readonly seen: Seen;
  /** Name of the fault that was in place; null when none was. */
  readonly fault: string | null;
  /** No fault was in place, or one that does not bring this alarm about. */
  readonly isFalse: boolean;
}

export interface AlarmLog {
  /**
   * Takes a look at what is in alarm now.
   *
   * @param fault that is in place; null for none
   * @returns what was raised since the look before; a ticket that becomes a page is raised again
   */
  look(open: readonly OpenAlarm[], seen: Seen, fault: KnownFault | null): readonly RaisedAlarm[];
  /** Everything that was raised, in the order of time. */
  readonly raised: readonly RaisedAlarm[];
}

export function createAlarmLog(): AlarmLog {
  const raised: RaisedAlarm[] = [];
  let before: readonly OpenAlarm[] = [];
  return {
    raised,
    look(open, seen, fault) {
      const isNew = ({ name, severity }: OpenAlarm): boolean =>
        !before.some((one) => one.name === name && (one.severity === severity || one.severity === 'critical'));
      const news = open.filter(isNew).map((alarm) => ({
        ...alarm,
        seen,
        fault: fault?.name ?? null,
        isFalse: fault === null || !fault.alarms.includes(alarm.name),
      }));
      raised.push(...news);
      before = open;
      return news;
    },
  };
}

/** What passed from one moment to another. */
export function seenSince(from: Seen, to: Seen): Seen {
  return {
    hours: to.hours - from.hours,
    goldenRuns: to.goldenRuns - from.goldenRuns,
    liveQueries: to.liveQueries - from.liveQueries,
  };
}
