/** Why a request is sent away for now, as it is counted. */
import type { ErrorCode } from '../core/errors.ts';

export type ShedReason = 'database' | 'disk_full' | 'overload' | 'rate_limit';

/** The reason that stands for an error which another try may not meet. */
export function shedReason(code: ErrorCode): ShedReason {
  if (code === 'overloaded') return 'overload';
  return code === 'database_full' ? 'disk_full' : 'database';
}
