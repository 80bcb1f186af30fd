/** Lengths of time in milliseconds. Days are those of 24 hours: Unix time has no others. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
