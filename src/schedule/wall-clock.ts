/** How the clock on the wall of a time zone goes, by the IANA database that the runtime brings. */
import { firstWhere } from '../stats/numerics.ts';
import { DAY_MS, MINUTE_MS } from '../time.ts';

/** Instants in [from, to), at which the clock on the wall shows the time in UTC plus `offset`; in milliseconds. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

/** What happens to the clock within a day of UTC. */
export interface ClockDay {
  /** One stretch, or on a day on which the clock is set the one before and the one after. */
  readonly stretches: readonly Stretch[];
  /** The instants after the clock was put forward, read as if it had not been: they stand for what it left out. */
  readonly leftOut: Stretch | null;
  /** The instants after the clock was put back at which it shows for the second time what it showed before. */
  readonly repeated: Stretch | null;
}

/** Days that are remembered of all time zones together; a schedule looks at the same few again and again. */
const MOST_DAYS = 20_000;
const days = new Map<string, ClockDay>();

/** @param day of UTC since 1970 @param timezone name of the IANA database */
export function clockDay(timezone: string, day: number): ClockDay {
  const key = `${timezone} ${day}`;
  const known = days.get(key);
  if (known !== undefined) return known;
  if (days.size >= MOST_DAYS) days.clear();
  const made = lookUp(timezone, day);
  days.set(key, made);
  return made;
}

function lookUp(timezone: string, day: number): ClockDay {
  const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS];
  const [before, after] = [offsetMs(timezone, from), offsetMs(timezone, to)];
  if (before === after) return { stretches: [{ from, to, offset: before }], leftOut: null, repeated: null };
  // No zone sets its clock twice a day, nor within a minute.
  const isAfter = (minute: number): boolean => offsetMs(timezone, minute * MINUTE_MS) === after;
  const at = MINUTE_MS * firstWhere(from / MINUTE_MS, to / MINUTE_MS, isAfter);
  const by = after - before;
  return {
    stretches: [
      { from, to: at, offset: before },
      { from: at, to, offset: after },
    ],
    leftOut: by > 0 ? { from: at, to: at + by, offset: before } : null,
    repeated: by < 0 ? { from: at, to: at - by, offset: after } : null,
  };
}

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetMs(timezone: string, at: number): number {
  let format = formats.get(timezone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' });
    formats.set(timezone, format);
  }
  const [, sign, hours = 0, minutes = 0] = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(at)) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
}
