import { describe, expect, it } from 'vitest';
import { describeFailure, misreadingOption, runFailure } from '../../../../src/golden/rules/run-failure.ts';
import { notAsked } from '../../../../src/golden/runs/ask-retriever.ts';
import { aFailedAnswer, anAnswer, goldenQueries } from '../../../support/builders.ts';

const refused = (queryId: string) =>
  aFailedAnswer({
    queryId,
    errorCode: 'connection_refused',
    errorMessage:
      'http://127.0.0.1:9000/search refused the connection; check that the service is running and the port is correct.',
  });

function messageOf(answers: Parameters<typeof runFailure>[0]): string | null {
  const failure = runFailure(answers);
  return failure === null ? null : describeFailure(failure);
}

describe('the failure of a golden run', () => {
  it('is the first real error and its count, and queries that were not sent are counted separately', () => {
    const spared = goldenQueries(40).slice(28).map(notAsked);
    expect(messageOf([...Array.from({ length: 28 }, (_, at) => refused(`q${at}`)), ...spared])).toBe(
      'http://127.0.0.1:9000/search refused the connection; check that the service is running and the port is correct (28 of 40 queries; 12 more were not sent).',
    );
  });

  it('counts queries that failed with other error codes separately', () => {
    const reset = aFailedAnswer({ errorCode: 'connection_reset', errorMessage: 'http://rag/ closed the connection.' });
    expect(messageOf([anAnswer(), reset, refused('q2'), refused('q3')])).toBe(
      'http://rag/ closed the connection (1 of 4 queries; 2 failed with other errors).',
    );
  });

  it('counts errors of one kind together, even when their texts contain different numbers', () => {
    const missing = (count: number) => aFailedAnswer({ errorCode: 'missing_id', errorMessage: `${count} have no id.` });
    expect(runFailure([missing(3), missing(4)])).toMatchObject({ message: '3 have no id.', queries: 2, others: 0 });
  });

  it('is a timeout when the retriever did not respond in time', () => {
    const late = anAnswer({ outcome: 'timeout', errorMessage: 'http://rag/ did not respond within 2000 ms.' });
    expect(runFailure([late])).toMatchObject({ code: 'timeout', queries: 1, total: 1 });
    expect(messageOf([late])).toBe('http://rag/ did not respond within 2000 ms (1 of 1 queries).');
  });

  it('states that no query was sent if the retriever had failed before the run', () => {
    expect(messageOf(goldenQueries(3).map(notAsked))).toBe(
      'The query was not sent: the retriever had failed for 28 queries in a row (3 of 3 queries).',
    );
  });

  it('is null when every query was answered', () => {
    expect(messageOf([anAnswer(), anAnswer({ outcome: 'empty', documents: [] })])).toBeNull();
  });
});

describe('an answer that the config misreads', () => {
  it('is reported with the config option to fix, unlike other failures', () => {
    expect(misreadingOption('no_result_list')).toBe('retriever.results.list');
    expect(misreadingOption('missing_id')).toBe('retriever.results.id');
    expect(misreadingOption('connection_refused')).toBeNull();
  });
});
