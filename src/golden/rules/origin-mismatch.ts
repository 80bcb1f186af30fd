import { RecalldError } from '../../errors.ts';

/** Who asked the questions of a golden set: people, or a model that was shown chunks. */
type Origin = 'human' | 'generated';

const questions: Readonly<Record<Origin, string>> = {
  human: 'questions of people',
  generated: 'questions of a model',
};

/** The error for questions that are to join a golden set of the other origin, with which they cannot be compared. */
export function originMismatch(set: string, holds: Origin): RecalldError {
  const [has, gets] = [questions[holds], questions[holds === 'human' ? 'generated' : 'human']];
  return new RecalldError(
    'golden_origin_differs',
    `The golden set "${set}" holds ${has}, which are not to be mixed with ${gets}; choose another name with --set.`,
  );
}
