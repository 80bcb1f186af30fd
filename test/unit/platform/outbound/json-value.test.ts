import { anything, assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  at,
  fieldAt,
  fieldsOf,
  listOf,
  numberOf,
  textOf,
  vectorOf,
} from '../../../../src/platform/outbound/json-api.ts';

describe('a field of a response', () => {
  it('is returned if it exists', () => {
    expect(at({ result: { points: [{ id: 7 }] } }, 'result', 'points', 0, 'id')).toBe(7);
    expect([fieldAt({ 'a.b': 1, a: { b: 2 } }, 'a.b'), fieldAt({ a: { b: 2 } }, 'a.b')]).toEqual([1, 2]);
    expect(fieldAt({ a: { 'b.c': 3 } }, 'a.b.c')).toBe(3);
    expect([textOf('a'), textOf(7), textOf(true), textOf(['first', 'second'])]).toEqual(['a', '7', 'true', 'first']);
    expect([numberOf(-0.5), numberOf('12')]).toEqual([-0.5, 12]);
    expect(vectorOf([1, '0.5'])).toEqual(Float32Array.of(1, 0.5));
  });

  it('is undefined or null if it is missing or has another type', () => {
    expect([fieldAt({ a: 1 }, 'b'), fieldAt({ a: 1 }, 'a.b'), fieldAt(null, 'a.b')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect([textOf(null), textOf([]), textOf({})]).toEqual([null, null, null]);
    expect([numberOf(''), numberOf('a'), numberOf(Number.NaN), numberOf([1])]).toEqual([null, null, null, null]);
    expect([vectorOf([]), vectorOf([1, 'a']), vectorOf([1e300]), vectorOf({})]).toEqual([null, null, null, null]);
  });

  it('never throws, whatever the response is', () => {
    assert(
      property(anything(), string(), (value, name) => {
        expect(Array.isArray(fieldsOf(value))).toBe(false);
        expect(listOf(value)).toEqual(Array.isArray(value) ? value : []);
        expect(at(value, name, 0) === undefined || typeof value === 'object').toBe(true);
        expect(vectorOf(value)?.every(Number.isFinite) ?? true).toBe(true);
        expect(Number.isFinite(numberOf(value) ?? 0)).toBe(true);
      }),
    );
  });
});
