/** Where a check stands after a measurement: the finding, after hysteresis and confirmation. */
import type { Verdict } from '../model.ts';
import { isBreach } from './result.ts';
import { type SteadyVerdict, steadyVerdict } from './steady-verdict.ts';
import type { ThresholdCheck, ThresholdFinding } from './threshold.ts';

export interface Standing extends SteadyVerdict {
  /** Whether there is too little data to judge, and the config says that this is no alarm. */
  readonly isQuiet: boolean;
  readonly evidenceAt: Date | null;
  /** The sentence of the finding, and the reason where the check stands at another verdict. */
  readonly explanation: string;
}

/**
 * Settles a finding. A measurement that was judged before, by a retry or because no newer one has come, changes
 * nothing. A check that cannot be judged because something is broken needs no confirmation: its values had to become
 * too old to trust first, which took long enough.
 *
 * A check that stood breached when its traffic ended is not quiet: its breach is not known to be over.
 *
 * @param evidenceAt when what was judged was measured; null for nothing
 */
export function settle(
  { confirm, noData }: Pick<ThresholdCheck, 'confirm' | 'noData'>,
  previous: Pick<Standing, keyof SteadyVerdict | 'evidenceAt'> | null,
  found: ThresholdFinding,
  evidenceAt: Date | null,
  at: Date,
): Standing {
  const isBroken = found.verdict === 'no_data' && !found.isQuiet;
  const isSeen =
    previous !== null &&
    !isBroken &&
    evidenceAt !== null &&
    previous.evidenceAt !== null &&
    evidenceAt <= previous.evidenceAt;
  const steady = isSeen ? previous : steadyVerdict(previous, found, at, isBroken ? 1 : confirm);
  const { verdict, since, lastKnown, candidate, seen } = steady;
  return {
    verdict,
    since,
    lastKnown,
    candidate,
    seen,
    isQuiet: verdict === 'no_data' && !isBroken && noData === 'silent' && !isBreach(lastKnown),
    evidenceAt: evidenceAt ?? previous?.evidenceAt ?? null,
    explanation: `${found.explanation}${whyNot(steady, found.verdict, confirm)}`,
  };
}

/** Why the check stands at something else than what was found. */
function whyNot({ verdict, candidate, seen }: SteadyVerdict, found: Verdict, confirm: number): string {
  if (candidate !== null) {
    return ` It stands at ${verdict}: ${seen} of the ${confirm} measurements in a row that it takes show ${candidate}.`;
  }
  if (found === verdict || found === 'no_data') return '';
  return ` It stands at ${verdict} until the value is better than the threshold by a margin.`;
}
