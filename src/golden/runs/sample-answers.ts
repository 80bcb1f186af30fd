/** Asks a retriever a few questions of a golden set, to see whether the two speak of the same documents. */
import type { GoldenQuery } from '../../model.ts';
import { type AnswerDoubts, doubtsOfAnswers } from '../rules/answer-doubts.ts';
import type { QueryAnswer } from '../rules/run.ts';
import { misreadingOption } from '../rules/run-failure.ts';
import { scheduleOf, type WatchedPipeline } from '../watched-pipeline.ts';
import { toQueryAnswer } from './ask-retriever.ts';

const MAX_ASKED = 20;

export type SampledAnswers =
  | { readonly kind: 'answers'; readonly asked: number; readonly doubts: AnswerDoubts }
  | { readonly kind: 'failed'; readonly message: string };

/** One question after the other, up to the first that fails; spread over the set. Rejects by `signal` alone. */
export async function sampleAnswers(
  pipeline: WatchedPipeline,
  set: string,
  queries: readonly GoldenQuery[],
  signal: AbortSignal,
): Promise<SampledAnswers> {
  const k = Math.max(...scheduleOf(pipeline, set).settings.cutoffs);
  const step = Math.max(1, Math.floor(queries.length / MAX_ASKED));
  const asked = queries.filter((_, index) => index % step === 0).slice(0, MAX_ASKED);
  const answers: QueryAnswer[] = [];
  for (const query of asked) {
    const answer = await pipeline.retriever.retrieve({ text: query.text, k, tags: query.tags }, signal);
    if (answer.kind !== 'documents') {
      const option = answer.kind === 'error' ? misreadingOption(answer.code) : null;
      return { kind: 'failed', message: option === null ? answer.message : `${answer.message} Mend ${option}.` };
    }
    answers.push(toQueryAnswer(query, answer));
  }
  return { kind: 'answers', asked: asked.length, doubts: doubtsOfAnswers(asked, answers, k) };
}
