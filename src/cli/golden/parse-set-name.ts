import { InvalidArgumentError } from 'commander';

/** The value of `--set`. */
export function parseSetName(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 100 of letters, digits, dot, dash and underscore.');
}
