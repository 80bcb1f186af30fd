import { InvalidArgumentError } from 'commander';

/** @throws InvalidArgumentError */
export function parseTime(text: string): Date {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(`"${text}" is no time; write it like 2026-11-20T15:45:00Z.`);
}
