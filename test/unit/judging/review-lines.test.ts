import { describe, expect, it } from 'vitest';
import { readGrades, reviewLine } from '../../../src/judging/edge/judge-commands.ts';
import { NOON } from '../../support/builders.ts';

const query = {
  id: 'q1',
  askedAt: NOON,
  text: 'how do I pay',
  documents: [
    { id: 'd1', text: 'By card.', grade: null, isOpen: true, isFlagged: false },
    { id: 'd2', text: null, grade: 2, isOpen: false, isFlagged: false },
  ],
};

describe('a review file', () => {
  it('is read back as it was written, without ungraded documents', () => {
    expect(readGrades(`${reviewLine(query)}\n\n`, 'review.jsonl')).toEqual([
      { queryId: 'q1', documentId: 'd2', grade: 2 },
    ]);
  });

  it('may contain one line per grade', () => {
    expect(readGrades('{"query_id": "q1", "document_id": "d1", "grade": 0}', 'f')).toEqual([
      { queryId: 'q1', documentId: 'd1', grade: 0 },
    ]);
  });

  it.each([
    ['{"query_id"', 'review.jsonl, line 2: invalid JSON.'],
    ['{"documents": []}', 'review.jsonl, line 2: query_id is missing or invalid.'],
    [
      '{"query_id": "q", "documents": [{"id": "d", "grade": 4}]}',
      'review.jsonl, line 2: documents.0.grade is missing or invalid.',
    ],
    ['7', 'review.jsonl, line 2: not a judgment.'],
  ])('is rejected for %s, with the line number', (line, message) => {
    expect(() => readGrades(`\n${line}`, 'review.jsonl')).toThrow(message);
  });
});
