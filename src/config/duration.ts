/** Lengths of time as people write them: `30m`, `24h`, `7d`. */
import { z } from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time.ts';

const unitMs = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const;

/** A length of time between two others, all in milliseconds. */
export function durationSchema(least: string, most: string) {
  return z
    .string()
    .regex(/^[1-9]\d{0,5}[mhd]$/, {
      error: 'must be a number of minutes, hours or days such as 30m, 24h or 7d',
      abort: true,
    })
    .refine((text) => durationMs(text) >= durationMs(least) && durationMs(text) <= durationMs(most), {
      error: `must be from ${least} to ${most}`,
    });
}

/** @param text that its schema has accepted */
export function durationMs(text: string): number {
  return Number.parseInt(text, 10) * unitMs[text.slice(-1) as keyof typeof unitMs];
}
