import { describe, expect, it } from 'vitest';
import { messageOf } from '../../../../src/core/errors.ts';

describe('the message of an error', () => {
  it.each([
    ['is the text of the error', new Error('no route'), 'no route'],
    ['is the name of an error without a text', new TypeError(''), 'TypeError'],
    ['is a thrown text unchanged', 'stop', 'stop'],
    [
      'of an aggregate lists the text of each error once',
      new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused'), new Error('::1 refused')], ''),
      '::1 refused; 127.0.0.1 refused',
    ],
    ['of an aggregate with a text is this text', new AggregateError([new Error('a')], 'all failed'), 'all failed'],
    ['of an empty aggregate is its name', new AggregateError([], ''), 'AggregateError'],
  ])('%s', (_, error, message) => {
    expect(messageOf(error)).toBe(message);
  });
});
