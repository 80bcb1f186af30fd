import { InvalidArgumentError } from 'commander';

/** How many rows a command shall list. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 10_000) return count;
  throw new InvalidArgumentError('It must be a whole number from 1 to 10000.');
}
