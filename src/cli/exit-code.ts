/** Exit codes of every command, in one place. */
import type { ErrorKind } from '../errors.ts';

export const EXIT_OK = 0;
/** A threshold is breached or a regression was found. */
export const EXIT_CHECK_FAILED = 1;
/** A bug of recalld; the contract's codes stay free for what they say. */
export const EXIT_BUG = 70;

export const exitCodeOfKind: Record<ErrorKind, number> = {
  input: 2,
  not_found: 2,
  conflict: 2,
  unauthorized: 2,
  forbidden: 2,
  too_large: 2,
  too_many: 3,
  unreachable: 3,
  interrupted: 130,
};
