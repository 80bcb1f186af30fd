import { describe, expect, it } from 'vitest';
import { messageOf } from '../../../../src/core/errors.ts';

describe('the message of an error', () => {
  it.each([
    ['is its own', new Error('no route'), 'no route'],
    ['is its name when it says nothing', new TypeError(''), 'TypeError'],
    ['is a thrown text as it stands', 'stop', 'stop'],
    [
      'of several is that of each of them, once',
      new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused'), new Error('::1 refused')], ''),
      '::1 refused; 127.0.0.1 refused',
    ],
    ['of several is their own where they have one', new AggregateError([new Error('a')], 'all failed'), 'all failed'],
    ['of none is a name', new AggregateError([], ''), 'AggregateError'],
  ])('%s', (_, error, message) => {
    expect(messageOf(error)).toBe(message);
  });
});
