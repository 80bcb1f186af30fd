import type { ObservedLive } from '../../src/incidents/diagnosis/rules/observed-live.ts';

/** Observations of a pipeline without any measurement of live traffic. */
export const nothingLive: ObservedLive = {
  errors: null,
  empty: null,
  latency: null,
  results: null,
  characters: null,
  repeated: null,
  topQuery: null,
  mainLanguage: null,
  queryLength: null,
  malformed: null,
  plain: null,
  repeatedQueries: null,
  feedback: null,
  episodeCalls: null,
  episodeRepeats: null,
  answerLike: null,
  rewriteGain: null,
};
