/** Why a request is sent away for now, as it is counted. */
import type { ErrorCode } from '../errors.ts';

export type ShedReason = 'database' | 'disk_full' | 'overload' | 'rate_limit';

/** The reason that stands for an error which another try may not meet. */
export function shedReason(code: ErrorCode): ShedReason {
  if (code === 'overloaded') return 'overload';
  if (code === 'rate_limited') return 'rate_limit';
  return code === 'database_full' ? 'disk_full' : 'database';
}
