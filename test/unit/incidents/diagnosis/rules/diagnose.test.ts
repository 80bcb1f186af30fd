import { describe, expect, it } from 'vitest';
import type { RunFailure } from '../../../../../src/golden/rules/run-failure.ts';
import { causeTexts, namedCauses, tellApart } from '../../../../../src/incidents/diagnosis/rules/cause.ts';
import type { ChangedAnswers } from '../../../../../src/incidents/diagnosis/rules/changed-answers.ts';
import { diagnose, MAX_SUMMARY_LENGTH } from '../../../../../src/incidents/diagnosis/rules/diagnose.ts';
import type {
  Observations,
  ObservedReference,
  ObservedRun,
} from '../../../../../src/incidents/diagnosis/rules/observations.ts';
import { besideOf } from '../../../../../src/incidents/diagnosis/rules/rank-causes.ts';
import type { DropState } from '../../../../../src/judging/rules/judged-mean.ts';
import { aDeployment } from '../../../../support/builders.ts';
import { nothingLive } from '../../../../support/nothing-live.ts';

const unchanged: ChangedAnswers = {
  answered: 100,
  score: { measure: 'ndcg@10', n: 100, difference: 0, ciLow: 0, ciHigh: 0, verdict: 'no_change' },
  kept: 1,
  retrievalScores: null,
  calls: null,
  dropped: { lost: 0, gone: 0 },
  replaced: { changed: 0, wholly: 0, pushed: 0 },
  keptOfThere: 1,
  disorder: 0,
  firstMoved: 0,
  firstGone: 0,
  rarer: { documents: 0, gone: 0 },
  length: { before: 10, now: 10 },
  cut: null,
  renamed: null,
  documentsBefore: 200,
  vanished: 0,
  appeared: 0,
  emptyBefore: 0,
  empty: 0,
  foreign: { compared: 100, foreign: 0, usual: 0 },
  newcomer: { queries: 2, usual: 0.5 },
  repeated: { before: 0, now: 0 },
};
const fallen: Partial<ChangedAnswers> = {
  score: { measure: 'ndcg@10', n: 100, difference: -0.2, ciLow: -0.25, ciHigh: -0.15, verdict: 'regression' },
};

const failedWith = (code: string): RunFailure => ({
  message: `http://rag:9000/search failed with ${code}.`,
  code,
  queries: 20,
  others: 0,
  notAsked: 0,
  total: 100,
});

interface Parts extends Partial<Omit<Observations, 'run'>> {
  readonly run?: Partial<ObservedRun>;
  readonly answers?: Partial<ChangedAnswers>;
  readonly reference?: Partial<ObservedReference>;
}

/** Returns observations in which everything is measured and healthy, except for the given parts. */
function observing({ run, answers, reference, ...parts }: Parts): Observations {
  return {
    firing: null,
    onset: null,
    samples: {},
    run: {
      goldenSet: 'faq',
      outcomes: { ok: 100, empty: 0, error: 0, timeout: 0 },
      failure: null,
      latency95Ms: 30,
      slow: { queries: 0, early: 0 },
      returned: { documents: 1000, judged: 90 },
      labels: { probed: 100, stale: 0, deleted: 0, lost: 0 },
      forbidden: null,
      level: null,
      reference: {
        latency95Ms: 30,
        labels: { probed: 100, stale: 0, deleted: 0, lost: 0 },
        version: 1,
        isSameVersion: true,
        answers: { ...unchanged, ...answers },
        loss: null,
        stages: null,
        texts: null,
        previous: null,
        older: null,
        ...reference,
      },
      ...run,
    },
    live: nothingLive,
    relevance: null,
    judge: null,
    store: { before: 1000, now: 1000 },
    storeAgreement: null,
    missedVectors: null,
    returnedAbsent: null,
    liveReplay: null,
    wordEffects: null,
    missedTexts: null,
    annRecall: { before: 0.98, value: 0.98, ciLow: 0.97, ciHigh: 0.99, n: 200, k: 10 },
    index: [],
    arrivals: null,
    canary: { median: 1, least: 1, verdict: 'same' },
    deployments: [],
    density: { value: 1, ciLow: 0.97, ciHigh: 1.03, n: 500, hasFallen: false, questions: null, since: null },
    topics: [],
    sentinel: { hasFallen: false },
    isolation: null,
    ownWork: { kind: 'done' },
    ...parts,
  };
}

/** A live measure with a narrow interval. */
const aValue = (value: number, before: number) => ({
  value,
  ciLow: 0.97 * value,
  ciHigh: 1.03 * value,
  n: 500,
  before,
});
/** Number of calls of an agent that almost never makes a second call. */
const stopped = { value: 1.02, ciLow: 1.01, ciHigh: 1.04, n: 500, before: 1.8 };
const feedbackOf = (value: number, before: number) =>
  ({ ...aValue(value, before), of: 'opinions', isDrop: true }) as const;

const germanQueries = { name: 'in German', n: 25, inside: 0.8, outside: 0, searched: 9, chance: 1e-6 };
const aLossOf = (kind: typeof germanQueries) => ({
  measure: 'ndcg@10',
  before: 0.9,
  now: 0.7,
  parts: { failed: 0, timed_out: 0, empty: 0, stale: 0, unshared: 0, answers: 0.2, present: 0 },
  segment: null,
  segments: null,
  kind,
});

const aDrop = (state: DropState) => ({ value: 0.08, ciLow: 0.03, ciHigh: 0.13, n: 600, state });

const outcomes = (error: number, timeout: number) => ({
  ok: 100 - error - timeout,
  empty: 0,
  error,
  timeout,
});

describe('a diagnosis', () => {
  it.each<[string, Parts]>([
    ['retriever_outage', { run: { outcomes: outcomes(100, 0), failure: failedWith('http_503') } }],
    ['retriever_failing', { run: { outcomes: outcomes(20, 2), failure: failedWith('http_500') } }],
    ['access_denied', { run: { outcomes: outcomes(100, 0), failure: failedWith('http_401') } }],
    ['rate_limited', { run: { outcomes: outcomes(30, 0), failure: failedWith('http_429') } }],
    ['error_page', { run: { outcomes: outcomes(100, 0), failure: failedWith('not_json') } }],
    ['retriever_slow', { run: { outcomes: outcomes(0, 60), latency95Ms: 1900 } }],
    // The latency of successful calls did not change, because slow calls timed out.
    ['retriever_slow', { run: { outcomes: outcomes(0, 60) } }],
    ['cold_cache', { run: { latency95Ms: 900, slow: { queries: 20, early: 20 } } }],
    ['empty_lists', { run: { latency95Ms: 3 }, answers: { ...fallen, empty: 100, kept: 0 } }],
    ['filter', { answers: { ...fallen, vanished: 60, kept: 0.7 } }],
    [
      'cut_off_answers',
      { answers: { ...fallen, length: { before: 10, now: 3 }, cut: 1, kept: 0.3, keptOfThere: 0.4 } },
    ],
    [
      'ids_renamed',
      {
        answers: { ...fallen, vanished: 200, appeared: 200, kept: 0, renamed: 1 },
        run: { labels: { probed: 100, stale: 100, deleted: 0, lost: 0 } },
      },
    ],
    [
      'old_index',
      {
        answers: { ...fallen, vanished: 60, appeared: 60, kept: 0.6 },
        reference: { older: { at: new Date(0), withNow: 1, withReference: 0.5, referenceWithNow: 0.5 } },
      },
    ],
    [
      'split_index',
      {
        answers: { ...fallen, vanished: 5, kept: 0.7 },
        reference: {
          previous: { latency95Ms: 30, answers: { changed: 60, inOne: 30, back: 14, alike: 28, unlike: 2 } },
        },
      },
    ],
    ['random_answers', { answers: { ...fallen, vanished: 190, kept: 0.03, keptOfThere: 0.4 } }],
    [
      'random_answers',
      {
        answers: { ...fallen, kept: 0.04, keptOfThere: 0.04 },
        reference: {
          previous: { latency95Ms: 30, answers: { changed: 100, inOne: 0, back: 0, alike: 0, unlike: 100 } },
        },
      },
    ],
    ['ranking', { answers: { ...fallen, disorder: 0.5 } }],
    // Only the first document moved, to the fifth rank.
    ['ranking', { answers: { ...fallen, disorder: 0.09, firstMoved: 1 } }],
    // For example, the list begins with the second result.
    ['ranking', { answers: { ...fallen, kept: 0.9, keptOfThere: 0.9, firstGone: 0.98 } }],
    // Some returned documents are not in the store, so the retriever does not search the store.
    [
      'old_index',
      {
        answers: { ...fallen, kept: 0.7, keptOfThere: 0.8, vanished: 30, appeared: 5 },
        returnedAbsent: { before: 0, value: 0.06, ciLow: 0.03, ciHigh: 0.1, n: 150 },
      },
    ],
    // Documents that are ranked lower are still returned for some queries; a filter would hide them from all queries.
    [
      'unknown',
      {
        answers: { ...fallen, kept: 0.9, keptOfThere: 0.95, vanished: 14, rarer: { documents: 20, gone: 4 } },
        storeAgreement: { before: 0.8, now: 0.79, spread: 0.01, deep: { before: 0.95, now: 0.95 } },
      },
    ],
    [
      'filter',
      {
        answers: { ...fallen, kept: 0.7, keptOfThere: 0.97, vanished: 60, rarer: { documents: 50, gone: 50 } },
      },
    ],
    // Editors pinned two documents for many queries; the other results only moved down.
    [
      'ranking',
      { answers: { ...fallen, kept: 0.9, firstMoved: 0.6, replaced: { changed: 50, wholly: 0, pushed: 48 } } },
    ],
    // A limit on the number of results never empties most result lists.
    ['empty_lists', { answers: { ...fallen, empty: 60, kept: 0.4, length: { before: 10, now: 4 }, cut: 1 } }],
    // The service has always returned ids that the store does not contain.
    [
      'filter',
      {
        answers: { ...fallen, kept: 0.7, keptOfThere: 0.95, vanished: 60, appeared: 5 },
        returnedAbsent: { before: 1, value: 1, ciLow: 0.98, ciHigh: 1, n: 150 },
      },
    ],
    [
      'one_segment',
      {
        answers: { ...fallen, kept: 0.8, keptOfThere: 0.9 },
        reference: {
          loss: {
            measure: 'ndcg@10',
            before: 0.9,
            now: 0.7,
            parts: { failed: 0, timed_out: 0, empty: 0, stale: 0, unshared: 0, answers: 0.2, present: 0 },
            segment: { name: 'tenant=acme', n: 25, inside: 0.8, outside: 0, searched: 4, chance: 1e-6 },
            segments: null,
            kind: null,
          },
        },
      },
    ],
    [
      'live_traffic',
      {
        live: { ...nothingLive, errors: { value: 0.4, ciLow: 0.35, ciHigh: 0.45, n: 300, before: 0.01 }, empty: null },
      },
    ],
    // Golden scores did not change while judged live relevance dropped, so live queries differ from the golden set.
    ['unlike_golden', { firing: [], relevance: aDrop('confirmed') }],
    ['unlike_golden', { firing: ['relevance'], relevance: aDrop('detected'), judge: 'same' }],
    [
      'unlike_golden',
      {
        firing: ['relevance'],
        relevance: {
          state: 'below',
          measure: 'live_hit_rate',
          value: 0.6,
          ciLow: 0.5,
          ciHigh: 0.7,
          n: 90,
          before: 0.9,
        },
      },
    ],
    [
      'uncovered_topic',
      {
        firing: ['density'],
        relevance: aDrop('confirmed'),
        density: { value: 0.8, ciLow: 0.76, ciHigh: 0.84, n: 500, hasFallen: true, questions: 'new', since: null },
        topics: [{ id: 't-1', trafficShare: 0.1, cause: 'new_demand' }],
      },
    ],
    // Live relevance and golden scores both dropped, so the retriever is the cause.
    ['ranking', { relevance: aDrop('detected'), answers: { ...fallen, disorder: 0.5 } }],
    [
      'index_lost_documents',
      {
        relevance: aDrop('confirmed'),
        run: { labels: { probed: 100, stale: 33, deleted: 0, lost: 0 } },
        answers: { vanished: 66, kept: 0.7 },
        store: { before: 1000, now: 670 },
      },
    ],
    [
      'random_answers',
      {
        answers: {
          ...fallen,
          kept: 0.1,
          newcomer: { queries: 25, usual: 1 },
        },
      },
    ],
    [
      'foreign_answers',
      {
        answers: {
          ...fallen,
          kept: 0.7,
          foreign: { compared: 100, foreign: 30, usual: 0 },
        },
      },
    ],
    [
      'damaged_texts',
      {
        answers: { ...fallen, kept: 0.7, keptOfThere: 0.7 },
        reference: {
          texts: { before: { characters: 8000, repeated: 0 }, now: { characters: 2400, repeated: 0 }, same: null },
        },
      },
    ],
    // A new version of the set names documents by their URLs, so no judged document is in the store.
    [
      'golden_labels',
      {
        firing: ['score'],
        run: { labels: { probed: 100, stale: 0, deleted: 0, lost: 60 } },
        reference: { version: 1, isSameVersion: false },
      },
    ],
    // Results are shorter because other documents are returned.
    [
      'unknown',
      {
        answers: { ...fallen, kept: 0.7, keptOfThere: 0.7 },
        reference: {
          texts: {
            before: { characters: 8000, repeated: 0 },
            now: { characters: 2400, repeated: 0 },
            same: { before: { characters: 8000, repeated: 0 }, now: { characters: 8000, repeated: 0 } },
          },
        },
      },
    ],
    ['cut_off_answers', { firing: ['results'], live: { ...nothingLive, results: aValue(3, 10) } }],
    ['duplicate_results', { answers: { ...fallen, kept: 0.6, repeated: { before: 0, now: 0.5 } } }],
    [
      'duplicate_results',
      {
        firing: ['repeats'],
        live: { ...nothingLive, repeated: aValue(0.5, 0.01) },
        store: { before: 1000, now: 2000 },
      },
    ],
    [
      'one_kind_of_query',
      { answers: { ...fallen, kept: 0.8, keptOfThere: 0.8 }, reference: { loss: aLossOf(germanQueries) } },
    ],
    [
      'golden_labels',
      {
        firing: ['score'],
        run: {
          level: {
            measure: 'ndcg@10',
            now: 0.4,
            first: 0.41,
            threshold: 0.7,
            opinions: { value: 0.85, ciLow: 0.8, ciHigh: 0.9, n: 300, by: 'users' },
          },
        },
      },
    ],
    ['generator', { firing: ['feedback'], live: { ...nothingLive, feedback: feedbackOf(0.5, 0.8) } }],
    // Positive feedback and golden scores both dropped, so the retriever is the cause.
    ['ranking', { live: { ...nothingLive, feedback: feedbackOf(0.5, 0.8) }, answers: { ...fallen, disorder: 0.5 } }],
    ['agent_loop', { firing: ['traffic'], live: { ...nothingLive, repeatedQueries: aValue(0.5, 0.02) } }],
    ['repeated_query', { firing: ['traffic'], live: { ...nothingLive, topQuery: aValue(0.4, 0.02) } }],
    ['other_language', { firing: ['traffic'], live: { ...nothingLive, mainLanguage: aValue(0.5, 0.97) } }],
    // For example, the service now sends the history of the conversation with each query.
    [
      'live_traffic',
      {
        firing: ['feedback', 'traffic'],
        live: { ...nothingLive, feedback: feedbackOf(0.5, 0.8), queryLength: aValue(180, 48) },
      },
    ],
    [
      'other_language',
      {
        firing: ['density', 'traffic'],
        live: { ...nothingLive, mainLanguage: aValue(0.5, 0.97) },
        density: { value: 0.7, ciLow: 0.66, ciHigh: 0.74, n: 500, hasFallen: true, questions: 'new', since: null },
        topics: [{ id: 't-1', trafficShare: 0.3, cause: 'new_demand' }],
      },
    ],
    ['query_rewriting', { firing: ['rewritten_queries'], live: { ...nothingLive, answerLike: aValue(0.3, 0) } }],
    ['query_rewriting', { firing: ['rewrite_gain'], live: { ...nothingLive, rewriteGain: aValue(0.01, 0.12) } }],
    ['agent_loop', { firing: ['episode_repeats'], live: { ...nothingLive, episodeRepeats: aValue(1.9, 0.2) } }],
    ['agent_loop', { firing: ['episode_calls'], live: { ...nothingLive, episodeCalls: stopped } }],
    // An agent that gets worse results makes more calls, so the retriever is the cause.
    [
      'index_lost_documents',
      {
        firing: ['episode_calls', 'episode_repeats', 'labels'],
        live: { ...nothingLive, episodeCalls: aValue(2.4, 1.8), episodeRepeats: aValue(0.4, 0.2) },
        run: { labels: { probed: 100, stale: 0, deleted: 0, lost: 33 } },
        answers: { ...fallen, vanished: 66, kept: 0.7 },
        store: { before: 1000, now: 670 },
      },
    ],
    // More calls without other signs can have many causes.
    ['unknown', { firing: ['episode_calls'], live: { ...nothingLive, episodeCalls: aValue(2.6, 1.8) } }],
    ['judge', { firing: [], judge: 'changed' }],
    ['judge', { firing: ['relevance'], judge: 'changed', relevance: aDrop('detected') }],
    ['judge', { firing: [], judge: 'changed', deployments: [aDeployment({})] }],
    ['unknown', { firing: ['relevance'], relevance: aDrop('rejected') }],
    ['retriever_slow', { run: { latency95Ms: 900 } }],
    // The retriever skips a shard that exceeds its time limit.
    [
      'partial_results',
      {
        firing: ['score', 'latency'],
        run: { latency95Ms: 900 },
        answers: {
          ...fallen,
          kept: 0.8,
          replaced: { changed: 30, wholly: 0, pushed: 0 },
          calls: { changed: 30, unchanged: 70, slower: 0.98, z: 7 },
        },
      },
    ],
    // The retriever is slow for all queries, and another fault changes the results.
    [
      'index_parameters',
      {
        firing: ['score', 'latency'],
        run: { latency95Ms: 900 },
        annRecall: { before: 0.98, value: 0.6, ciLow: 0.54, ciHigh: 0.66, n: 200, k: 10 },
        answers: { ...fallen, kept: 0.7, calls: { changed: 30, unchanged: 70, slower: 0.52, z: 0.3 } },
      },
    ],
    // A new version of the client encodes query texts twice.
    [
      'live_traffic',
      {
        firing: ['density', 'traffic', 'feedback'],
        live: { ...nothingLive, malformed: aValue(0.6, 0), feedback: feedbackOf(0.5, 0.8) },
        density: { value: 0.7, ciLow: 0.66, ciHigh: 0.74, n: 500, hasFallen: true, questions: 'new', since: null },
        liveReplay: {
          now: { value: 0.97, ciLow: 0.95, ciHigh: 0.99, n: 24 },
          before: { value: 0.98, ciLow: 0.96, ciHigh: 1, n: 24 },
        },
      },
    ],
    // The windows since the onset show an uncovered topic long before the density alert fires.
    [
      'uncovered_topic',
      {
        firing: ['feedback'],
        live: { ...nothingLive, feedback: feedbackOf(0.5, 0.8) },
        density: {
          value: 0.99,
          ciLow: 0.96,
          ciHigh: 1.02,
          n: 2000,
          hasFallen: false,
          questions: null,
          since: { from: new Date(0), sessions: 160, uncovered: 0.3, hasFallen: true },
        },
      },
    ],
    // A new extractor garbles texts; the documents vanish from the results, and the other scores do not change.
    [
      'damaged_texts',
      {
        answers: {
          ...fallen,
          kept: 0.8,
          retrievalScores: { results: 700, changed: 0, byQuery: null, byDocument: null },
        },
        missedTexts: { value: 0.9, ciLow: 0.7, ciHigh: 0.97, n: 16, before: 0, cut: 2 },
      },
    ],
    // The retriever truncates queries of all kinds.
    [
      'one_kind_of_query',
      {
        answers: { ...fallen, kept: 0.3 },
        wordEffects: { asked: 8, varying: 0, recovered: 0, changed: 8, startIgnored: 0, endIgnored: 7, restored: 1 },
      },
    ],
    // The search receives a constant vector.
    [
      'random_answers',
      {
        answers: { ...fallen, kept: 0.05 },
        wordEffects: { asked: 8, varying: 0, recovered: 0, changed: 8, startIgnored: 8, endIgnored: 8, restored: 0 },
      },
    ],
    // A query gets the results of a different query each time.
    [
      'random_answers',
      {
        answers: { ...fallen, kept: 0.3, keptOfThere: 0.3, foreign: { compared: 100, foreign: 40, usual: 0 } },
        storeAgreement: null,
        wordEffects: { asked: 8, varying: 7, recovered: 0, changed: 6, startIgnored: 0, endIgnored: 0, restored: 3 },
      },
    ],
    // The fault was fixed between the golden run and the repeated calls.
    [
      'unknown',
      {
        answers: { ...fallen, kept: 0.6, keptOfThere: 0.6 },
        storeAgreement: null,
        wordEffects: { asked: 8, varying: 0, recovered: 8, changed: 0, startIgnored: 0, endIgnored: 0, restored: 0 },
      },
    ],
    // One of two replicas lacks documents, and the golden run saw this replica.
    [
      'split_index',
      {
        answers: { ...fallen, kept: 0.6, keptOfThere: 0.6 },
        storeAgreement: null,
        wordEffects: { asked: 8, varying: 0, recovered: 5, changed: 3, startIgnored: 0, endIgnored: 0, restored: 1 },
      },
    ],
    // Users speak or type keywords, and the golden set contains questions.
    [
      'unlike_golden',
      {
        firing: ['traffic', 'feedback'],
        live: { ...nothingLive, plain: aValue(0.7, 0.1), feedback: feedbackOf(0.5, 0.8) },
      },
    ],
    [
      'index_lost_documents',
      {
        run: { labels: { probed: 100, stale: 33, deleted: 0, lost: 0 } },
        answers: { vanished: 66, kept: 0.7 },
        store: { before: 1000, now: 670 },
      },
    ],
    [
      'corpus_changed',
      {
        run: { labels: { probed: 100, stale: 90, deleted: 0, lost: 0 } },
        answers: { vanished: 180, appeared: 300, kept: 0.1 },
        store: { before: 1000, now: 1900 },
      },
    ],
    [
      'index_parameters',
      {
        annRecall: { before: 0.98, value: 0.6, ciLow: 0.54, ciHigh: 0.66, n: 200, k: 10 },
        answers: { ...fallen, kept: 0.7 },
      },
    ],
    [
      'index_parameters',
      {
        storeAgreement: { before: 1, now: 0.7, spread: 0, deep: { before: 1, now: 1 } },
        answers: { ...fallen, kept: 0.7 },
      },
    ],
    [
      'ranking',
      {
        storeAgreement: { before: 0.6, now: 1, spread: 0.02, deep: { before: 1, now: 1 } },
        answers: { ...fallen, kept: 0.7, disorder: 0.3 },
      },
    ],
    // A boost changes the scores of certain documents, and rarely changes the order of the others.
    [
      'ranking',
      {
        answers: {
          ...fallen,
          kept: 0.8,
          retrievalScores: { results: 300, changed: 0.3, byQuery: 0.05, byDocument: 0.95 },
        },
      },
    ],
    // If the embedding model had changed, the scores of the remaining documents would have changed too.
    [
      'index_parameters',
      {
        storeAgreement: { before: 1, now: 0.5, spread: 0, deep: { before: 1, now: 0.6 } },
        index: [{ kind: 'unretrievable', value: 0.3, ciLow: 0.22, n: 120, known: 36, neverArrived: 0 }],
        answers: {
          ...fallen,
          kept: 0.6,
          keptOfThere: 0.65,
          replaced: { changed: 90, wholly: 3, pushed: 0 },
          retrievalScores: { results: 300, changed: 0, byQuery: null, byDocument: null },
        },
      },
    ],
    [
      'embedding_model',
      { missedVectors: { before: 0, value: 0.8, ciLow: 0.5, ciHigh: 0.95, n: 16 }, answers: { ...fallen, kept: 0.7 } },
    ],
    [
      'embedding_model',
      { canary: { median: 0.02, least: -0.1, verdict: 'changed' }, answers: { ...fallen, kept: 0.05 } },
    ],
    [
      'index_lost_documents',
      {
        firing: ['index_missing'],
        index: [{ kind: 'missing', value: 0.021, ciLow: 0.019, n: 20_000, known: 412, neverArrived: 0 }],
      },
    ],
    [
      'index_behind',
      {
        firing: ['index_missing'],
        index: [{ kind: 'missing', value: 0.09, ciLow: 0.09, n: 46, known: 4, neverArrived: 3 }],
      },
    ],
    [
      'index_behind',
      {
        firing: ['index_late'],
        arrivals: { seconds: 21_000, atLeast: 19_200, allowed: 3600, n: 40, waiting: 3, overdue: 3 },
      },
    ],
    [
      'embedding_model',
      {
        firing: ['index_models'],
        index: [{ kind: 'other_model', value: 0.5, ciLow: 0.4, n: 96, known: 48, neverArrived: 0 }],
      },
    ],
    [
      'deployment',
      { deployments: [aDeployment({})], answers: { ...fallen, kept: 0.8, keptOfThere: 0.8, disorder: 0.3 } },
    ],
    [
      'uncovered_topic',
      {
        density: { value: 0.8, ciLow: 0.76, ciHigh: 0.84, n: 500, hasFallen: true, questions: 'new', since: null },
        topics: [{ id: 't-1', trafficShare: 0.1, cause: 'new_demand' }],
      },
    ],
    ['golden_labels', { run: { labels: { probed: 100, stale: 3, deleted: 0, lost: 0 } } }],
    ['forbidden_documents', { firing: ['forbidden'], run: { forbidden: { asked: 12, results: 1 } } }],
    ['recalld', { ownWork: { kind: 'overdue', goldenSet: 'faq', intervals: 5 } }],
    ['unknown', { answers: { ...fallen, kept: 0.8, keptOfThere: 0.8, disorder: 0.3 } }],
    ['unknown', {}],
  ])('names the cause %s', (cause, parts) => {
    expect(diagnose(observing(parts))).toMatchObject({ cause });
  });

  it('names another language only if the share of the main language changed by more than chance', () => {
    const share = (value: number, reach: number) => ({
      ...nothingLive,
      mainLanguage: { value, ciLow: value - reach, ciHigh: value + reach, n: 85, before: 0.5 },
    });
    const named = (live: ReturnType<typeof share>) => diagnose(observing({ firing: ['feedback'], live })).cause;
    expect(named(share(0.38, 0.1))).not.toBe('other_language');
    expect(named(share(0.3, 0.1))).toBe('other_language');
  });

  const notRetrieved = { kind: 'unretrievable', value: 0.3, ciLow: 0.22, n: 120, known: 36, neverArrived: 0 } as const;
  const foreign = { kind: 'other_model', value: 0.3, ciLow: 0.2, n: 96, known: 29, neverArrived: 0 } as const;
  const whole = { kind: 'missing', value: 0, ciLow: 0, n: 20_000, known: 0, neverArrived: 0 } as const;

  it.each<[string, Parts]>([
    ['the embedding model if the index finds near vectors', {}],
    ['the embedding model or the index if the recall of the index is unknown', { annRecall: null }],
  ])('names %s, for documents that are stored but not retrieved', (_, parts) => {
    const found = diagnose(observing({ firing: ['index_retrieval'], index: [whole, notRetrieved], ...parts }));
    const named = new Set([found.cause, besideOf(found)?.cause]);
    expect(named).toContain('embedding_model');
    expect(named).not.toContain('index_lost_documents');
    expect(found.signs).toContainEqual(expect.objectContaining({ name: 'index_retrieval', state: 'not_found' }));
    const lost = found.ranked.find(({ cause }) => cause === 'index_lost_documents');
    expect(lost?.probability).toBeLessThan(0.01);
  });

  it('names the embedding model if documents with foreign vectors are not retrieved', () => {
    const found = diagnose(
      observing({ firing: ['index_retrieval', 'index_models', 'score'], index: [whole, notRetrieved, foreign] }),
    );
    expect(found).toMatchObject({ cause: 'embedding_model', confidence: 'high' });
    expect(found.ranked[0]?.supporting.map(({ name }) => name)).toContain('index_retrieval');
  });

  it('names lost documents if some are missing and others are not retrieved', () => {
    const missing = { ...whole, value: 0.2, ciLow: 0.19, known: 4000 };
    const found = diagnose(
      observing({
        firing: ['index_missing'],
        index: [missing, notRetrieved],
        store: { before: 1000, now: 800 },
        annRecall: null,
      }),
    );
    expect(found.cause).toBe('index_lost_documents');
  });

  const onset = new Date('2026-11-20T12:00:00Z');
  const [before, after] = [new Date(onset.getTime() - 60_000), new Date(onset.getTime() + 60_000)];
  const lostOf = ({ ranked }: ReturnType<typeof diagnose>): number =>
    ranked.find(({ cause }) => cause === 'index_lost_documents')?.probability ?? 0;

  it('ignores index rounds from before the onset as evidence against a loss', () => {
    const lossAt = (from: Date) =>
      diagnose(
        observing({
          firing: ['score'],
          answers: { ...fallen, vanished: 66, kept: 0.7 },
          run: { labels: null },
          store: null,
          index: [whole],
          onset,
          samples: { index_documents: { from, n: 20_000 } },
        }),
      );
    expect(lostOf(lossAt(before))).toBeGreaterThan(10 * lostOf(lossAt(after)));
    expect(lossAt(before).signs).toContainEqual(
      expect.objectContaining({ name: 'index_documents', from: before.toISOString(), n: 20_000 }),
    );
  });

  it('gives little weight to 8 probes without a finding against the embedding model', () => {
    const found = { ...notRetrieved, value: 0, ciLow: 0 };
    const probed = (n: number) =>
      diagnose(
        observing({
          firing: ['score'],
          answers: { ...fallen, kept: 0.05 },
          canary: null,
          index: [{ ...found, n }],
          onset,
          samples: { index_retrieval: { from: after, n } },
        }),
      ).ranked.find(({ cause }) => cause === 'embedding_model')?.probability ?? 0;
    expect(probed(8)).toBeGreaterThan(probed(200));
  });

  /** A store that has lost this percentage of its documents so far, at a rate of 1 % per minute. */
  const losing = (percentage: number): Parts => ({
    firing: ['labels'],
    run: { labels: { probed: 100, stale: 0, deleted: 0, lost: percentage } },
    answers: { vanished: 2 * percentage, kept: 1 - percentage / 100 },
    store: { before: 1000, now: 1000 - 10 * percentage },
    annRecall: null,
    index: [whole],
    onset,
    samples: { index_documents: { from: before, n: 20_000 } },
  });

  it.each([1, 2, 3, 5, 8, 13, 30])('names a slow loss when %i %% of the documents are gone', (percentage) => {
    expect(diagnose(observing(losing(percentage)))).toMatchObject({ cause: 'index_lost_documents' });
  });

  /**
   * Owners deleted a third of the documents: the store is smaller, and queries about the remaining documents keep their
   * scores.
   */
  const withdrawn: Parts = {
    firing: ['score', 'labels'],
    run: { labels: { probed: 100, stale: 33, deleted: 30, lost: 0 } },
    answers: { vanished: 66, kept: 0.7, rarer: { documents: 66, gone: 66 } },
    store: { before: 1000, now: 670 },
    reference: {
      loss: {
        measure: 'ndcg@10',
        before: 0.9,
        now: 0.6,
        parts: { failed: 0, timed_out: 0, empty: 0, stale: 0.3, unshared: 0, answers: 0, present: 0 },
        segment: null,
        segments: null,
        kind: null,
      },
    },
  };

  it('does not call documents renamed if the store still has the earlier documents', () => {
    const replaced = { answers: { ...fallen, vanished: 200, appeared: 200, kept: 0, renamed: 1 } };
    const returnedAbsent = { before: 0, value: 0, ciLow: 0, ciHigh: 0.02, n: 150 };
    expect(diagnose(observing(replaced)).cause).toBe('ids_renamed');
    expect(diagnose(observing({ ...replaced, returnedAbsent })).confidence).toBe('low');
  });

  it('names outdated judgments, not missing documents, if the manifest lists the missing documents as deleted', () => {
    const found = diagnose(observing(withdrawn));
    expect(found).toMatchObject({ cause: 'golden_labels' });
    expect(found.confidence).not.toBe('low');
    expect(found.ranked.find(({ cause }) => cause === 'index_lost_documents')?.probability).toBeLessThan(0.05);
    expect(found.signs.find(({ name }) => name === 'gone_documents')).toMatchObject({
      state: 'deleted',
      sentence: '30 of 33 missing judged documents were deleted in the manifest.',
    });
    expect(found.weighed).not.toContain('store_size');
  });

  it('names lost documents if half of the missing judged documents have no replacement in the store', () => {
    const run = { labels: { probed: 100, stale: 20, deleted: 0, lost: 20 } };
    const found = diagnose(observing({ ...losing(40), run }));
    expect(found).toMatchObject({ cause: 'index_lost_documents' });
    expect(found.signs.find(({ name }) => name === 'gone_documents')).toMatchObject({
      state: 'lost',
      sentence: '20 of 40 missing judged documents have no replacement in the store.',
    });
  });

  it('names lost documents if the earlier deletions were already in effect in the baseline run', () => {
    const earlier = { probed: 100, stale: 33, deleted: 33, lost: 0 };
    const parts = { failed: 0, timed_out: 0, empty: 0, stale: 0, unshared: 0, answers: 0.2, present: 0 };
    const found = diagnose(
      observing({
        ...withdrawn,
        run: { labels: { ...earlier, lost: 20 } },
        answers: { ...fallen, vanished: 40, kept: 0.8 },
        store: { before: 1000, now: 800 },
        reference: {
          labels: earlier,
          loss: { measure: 'ndcg@10', before: 0.9, now: 0.7, parts, segment: null, segments: null, kind: null },
        },
      }),
    );
    expect(found).toMatchObject({ cause: 'index_lost_documents' });
    expect(found.signs.find(({ name }) => name === 'gone_documents')).toMatchObject({
      state: 'lost',
      sentence: '20 of 20 missing judged documents have no replacement in the store.',
    });
  });

  it.each([
    [0.001, 'one_segment'],
    [0.2, 'unknown'],
  ])('names a segment only if its loss is unlikely to be chance (probability %d)', (chance, cause) => {
    const segment = { name: 'tenant=acme', n: 10, inside: 0.2, outside: 0, searched: 12, chance };
    const parts = { failed: 0, timed_out: 0, empty: 0, stale: 0, unshared: 0, answers: 0.03, present: 0 };
    const loss = { measure: 'ndcg@10', before: 0.9, now: 0.87, parts, segment, segments: null, kind: null };
    const found = diagnose(
      observing({ firing: ['score'], answers: { ...fallen, kept: 0.97, keptOfThere: 0.97 }, reference: { loss } }),
    );
    expect(found).toMatchObject({ cause });
  });

  const lostDocuments: Parts = {
    run: { labels: { probed: 100, stale: 0, deleted: 0, lost: 33 } },
    answers: { ...fallen, vanished: 66, kept: 0.7 },
    store: { before: 1000, now: 670 },
  };
  const loss = {
    measure: 'ndcg@10',
    before: 0.9,
    now: 0.6,
    parts: { failed: 0, timed_out: 0, empty: 0, stale: 0, unshared: 0, answers: 0.3, present: 0 },
    segment: null,
    segments: null,
    kind: null,
  };

  it('names a separate cause for slow responses if documents are lost, because a loss does not slow queries down', () => {
    const found = diagnose(
      observing({
        ...lostDocuments,
        firing: ['score', 'latency'],
        run: { ...lostDocuments.run, latency95Ms: 900 },
        reference: { loss },
      }),
    );
    expect(found.cause).toBe('index_lost_documents');
    expect(found.also).toEqual([expect.objectContaining({ cause: 'retriever_slow', effects: ['latency'] })]);
    expect(found.summary).toContain('Likely cause of the slow responses: the retriever is slow');
  });

  it('names separate causes for lower scores of answered queries and for failed calls', () => {
    const { cause, also } = diagnose(
      observing({
        firing: ['score', 'failures'],
        run: { outcomes: outcomes(30, 0), failure: failedWith('http_429') },
        answers: { ...fallen, disorder: 0.5 },
        reference: { loss: { ...loss, parts: { ...loss.parts, failed: 0.15, answers: 0.15 } } },
      }),
    );
    expect(new Set([cause, ...also.map((one) => one.cause)])).toEqual(new Set(['rate_limited', 'ranking']));
  });

  it('names separate causes for lower scores and slow responses', () => {
    const { cause, also } = diagnose(
      observing({
        firing: ['score', 'latency'],
        run: { latency95Ms: 900 },
        answers: { ...fallen, length: { before: 10, now: 3 }, cut: 1, kept: 0.3, keptOfThere: 0.4 },
        reference: { loss },
      }),
    );
    expect(new Set([cause, ...also.map((one) => one.cause)])).toEqual(new Set(['cut_off_answers', 'retriever_slow']));
  });

  it('names a configured segment rather than the kind of query in it', () => {
    const loss = { ...aLossOf(germanQueries), segment: { ...germanQueries, name: 'of language=de' } };
    const answers = { ...fallen, kept: 0.8, keptOfThere: 0.8 };
    expect(diagnose(observing({ firing: ['score'], answers, reference: { loss } }))).toMatchObject({
      cause: 'one_segment',
    });
  });

  it('does not blame judgments if the score once reached its threshold, or no feedback contradicts the score', () => {
    const level = { measure: 'ndcg@10', now: 0.4, first: 0.41, threshold: 0.7, opinions: null };
    expect(diagnose(observing({ firing: ['score'], run: { level } })).cause).toBe('unknown');
    const liked = { value: 0.85, ciLow: 0.8, ciHigh: 0.9, n: 300, by: 'users' } as const;
    const wasGood = { ...level, threshold: 0.4, opinions: liked };
    expect(diagnose(observing({ firing: ['score'], run: { level: wasGood } })).cause).toBe('unknown');
  });

  it('ranks each alert separately if no single cause explains all of them', () => {
    const found = diagnose(
      observing({
        firing: ['traffic', 'repeats', 'latency'],
        run: { latency95Ms: 900 },
        live: { ...nothingLive, topQuery: aValue(0.4, 0.02), repeated: aValue(0.5, 0.01) },
      }),
    );
    const causes = [found.cause, ...found.also.map(({ cause }) => cause)];
    expect(causes).toContain('duplicate_results');
    expect(causes).toContain('repeated_query');
    expect(found.also.find(({ cause }) => cause === 'duplicate_results')?.effects ?? ['repeats']).toEqual(['repeats']);
  });

  it('names a separate cause for lower scores of queries whose documents are not lost', () => {
    const parts = { ...loss.parts, answers: 0.05, present: 0.25 };
    const found = diagnose(
      observing({
        ...lostDocuments,
        firing: ['score', 'index_missing'],
        index: [{ kind: 'missing', value: 0.33, ciLow: 0.31, n: 20_000, known: 330, neverArrived: 0 }],
        answers: { ...fallen, vanished: 66, kept: 0.9, keptOfThere: 0.97, disorder: 0.8, firstMoved: 0.7 },
        reference: { loss: { ...loss, parts } },
      }),
    );
    expect([found.cause, ...found.also.map(({ cause }) => cause)].toSorted()).toEqual([
      'index_lost_documents',
      'ranking',
    ]);
  });

  it('does not infer truncated texts from live results if one query floods the traffic', () => {
    const live = {
      ...nothingLive,
      topQuery: { value: 0.85, ciLow: 0.82, ciHigh: 0.88, n: 500, before: 0.03 },
      results: { value: 10, ciLow: 10, ciHigh: 10, n: 500, before: 10 },
      characters: { value: 6000, ciLow: 5900, ciHigh: 6100, n: 500, before: 8000 },
    };
    const found = diagnose(observing({ firing: ['traffic'], live }));
    expect(found.signs.map(({ name }) => name)).not.toContain('text_length');
    expect(found).toMatchObject({ cause: 'repeated_query', confidence: 'high' });
    const usual = { ...live, topQuery: { ...live.topQuery, value: 0.03, ciLow: 0.02 } };
    expect(diagnose(observing({ firing: ['context'], live: usual })).cause).toBe('damaged_texts');
  });

  it('blames the retriever for slow responses if the service reports them too, and recalld otherwise', () => {
    const slow = { firing: ['latency'], run: { latency95Ms: 900 } } as const;
    const serviceLatency = (now: number) => ({ ...nothingLive, latency: { before: 40, now, n: 400 } });
    const starved = { kind: 'starved', lateShare: 0, queuedShare: 0.8 } as const;
    expect(diagnose(observing({ ...slow, live: serviceLatency(900), ownWork: starved }))).toMatchObject({
      cause: 'retriever_slow',
    });
    expect(diagnose(observing({ ...slow, live: serviceLatency(41), ownWork: starved }))).toMatchObject({
      cause: 'recalld',
    });
  });

  it('blames recalld for slow responses that were measured while recalld lacked processor time', () => {
    const starved: Parts = {
      firing: ['latency'],
      run: { latency95Ms: 900, slow: { queries: 20, early: 20 } },
      ownWork: { kind: 'starved', lateShare: 0.4, queuedShare: 0 },
    };
    expect(diagnose(observing(starved))).toMatchObject({ cause: 'recalld' });
    const { cause, also } = diagnose(
      observing({
        ...lostDocuments,
        ...starved,
        firing: ['score', 'latency'],
        run: { ...lostDocuments.run, ...starved.run },
        reference: { loss },
      }),
    );
    expect(cause).toBe('index_lost_documents');
    expect(also).toEqual([expect.objectContaining({ cause: 'recalld', effects: ['latency'] })]);
  });

  it('names a single cause if it explains all firing alerts', () => {
    expect(
      diagnose(observing({ ...lostDocuments, firing: ['labels', 'index_missing'], reference: { loss } })).also,
    ).toEqual([]);
  });

  it('shows the largest differences if no listed cause fits', () => {
    const { cause, summary, ranked } = diagnose(observing({ answers: { ...fallen, kept: 0.8 } }));
    const differences = ranked.find((one) => one.cause === 'unknown')?.supporting.map(({ name }) => name);
    expect(cause).toBe('unknown');
    expect(new Set(differences)).toEqual(new Set(['score', 'results']));
    expect(summary).toMatch(
      /^Cause unknown: .* (nDCG@10 of successful queries|On average, \d+ % of a query's earlier documents)/,
    );
  });

  it('does not name a small topic as a cause before density has dropped', () => {
    const topics = [{ id: 't-1', trafficShare: 0.02, cause: 'new_demand' }] as const;
    const slow = { run: { latency95Ms: 500 }, topics };
    expect(diagnose(observing(slow)).cause).toBe('retriever_slow');
    expect(diagnose(observing({ ...slow, density: null })).cause).toBe('retriever_slow');
  });

  it('names the actual fault, not a harmless deployment at the same time', () => {
    const parts = {
      deployments: [aDeployment({})],
      canary: { median: 0.02, least: 0, verdict: 'changed' } as const,
    };
    expect(diagnose(observing({ ...parts, answers: { ...fallen, kept: 0.05 } }))).toMatchObject({
      cause: 'embedding_model',
    });
  });

  it('does not treat a low but unchanged index recall as a change', () => {
    const parts: Parts = { annRecall: { before: 0.8, value: 0.8, ciLow: 0.75, ciHigh: 0.85, n: 200, k: 10 } };
    expect(diagnose(observing(parts)).signs).toContainEqual(
      expect.objectContaining({ name: 'ann_recall', state: 'steady' }),
    );
  });

  it('uses trait changes that a probe detected, but not the size of the store', () => {
    const detected = (trait: string) =>
      aDeployment({ kind: 'index', source: 'detected', changes: [{ trait, before: '40', after: '10' }] });
    const signsOf = (trait: string) =>
      diagnose(observing({ deployments: [detected(trait)] })).signs.map(({ name }) => name);
    expect(signsOf('ef_search')).toContain('index_settings');
    expect(signsOf('size_class')).not.toContain('index_settings');
    expect(signsOf('dimensions')).toContain('embedder');
  });

  it('uses errors of live queries if there is no golden run', () => {
    const nothing: Observations = {
      ...observing({}),
      firing: ['live_errors'],
      run: null,
      live: { ...nothingLive, errors: { value: 0.95, ciLow: 0.85, ciHigh: 0.99, n: 50, before: 0 }, empty: null },
    };
    expect(diagnose(nothing)).toMatchObject({ cause: 'retriever_outage' });
    expect(diagnose({ ...nothing, live: { ...nothingLive, errors: null, empty: null } })).toMatchObject({
      cause: 'unknown',
    });
  });

  const twoCauses: Parts = { answers: { ...fallen, empty: 100, kept: 0 } };

  it('names two causes that the evidence does not distinguish, and the observation that would', () => {
    const found = diagnose(observing(twoCauses));
    const { summary } = found;
    expect(new Set([found.cause, besideOf(found)?.cause])).toEqual(new Set(['empty_lists', 'filter']));
    expect(summary).toContain('the search returns empty lists');
    expect(summary).toContain('a filter drops documents');
    expect(summary).toContain('is right if a call without');
  });

  it('has room in its summary for any two causes and the observation that distinguishes them', () => {
    for (const one of namedCauses)
      for (const other of namedCauses) {
        const either = `${causeTexts[one].title} or ${causeTexts[other].title} (medium confidence, 50 % and 40 %)`;
        const length = `Likely cause: ${either}. ${tellApart(one, other)}`.length;
        expect(length, `${one} or ${other}`).toBeLessThanOrEqual(MAX_SUMMARY_LENGTH);
      }
  });

  it('states that the failing measure is unchanged if it is, with both values', () => {
    const { cause, summary } = diagnose({
      ...observing({ run: { latency95Ms: 58 }, deployments: [aDeployment({})] }),
      firing: ['latency'],
    });
    expect(cause).toBe('unknown');
    expect(summary).toMatch(
      /^Cause unknown: the failing measures are close to their values in the last good run\. Check what .* Calls took 58 ms .*; previously, they took 30 ms\.$/,
    );
  });

  it('states what to do even if not all unchanged measures fit', () => {
    const { cause, summary } = diagnose({
      ...observing({}),
      firing: ['latency', 'labels', 'density', 'recall', 'canary'],
    });
    expect(cause).toBe('unknown');
    expect(summary).toContain('compare the golden runs before and after the change query by query');
  });

  it('fits into an annotation, with numbers and the action', () => {
    const { summary } = diagnose(observing({ run: { outcomes: outcomes(100, 0), failure: failedWith('http_503') } }));
    expect(summary.length).toBeLessThanOrEqual(MAX_SUMMARY_LENGTH);
    expect(summary).toContain('100 of 100 golden queries failed: http://rag:9000/search failed with http_503.');
    expect(summary).toContain('Check the retriever');
  });

  it('counts queries that were not sent separately from those that failed', () => {
    const failure = { ...failedWith('http_503'), queries: 35, notAsked: 65 };
    const { summary } = diagnose(observing({ run: { outcomes: outcomes(100, 0), failure } }));
    expect(summary).toContain('35 of 100 golden queries failed, and 65 were not sent: ');
  });

  it('states the action even if there is no room for evidence', () => {
    const failure = { ...failedWith('http_503'), message: `http://rag:9000/${'search/'.repeat(25)} failed.` };
    const { summary } = diagnose(observing({ run: { outcomes: outcomes(100, 0), failure } }));
    expect(summary.length).toBeLessThanOrEqual(MAX_SUMMARY_LENGTH);
    expect(summary).toMatch(/^Likely cause: the retriever is down .* Check the retriever/);
  });
});
