import { expect, it } from 'vitest';
import { originMismatch } from '../../../../src/golden/rules/golden-set.ts';

it('the error names the origin of the set, that of the new queries, and a way to proceed', () => {
  expect(originMismatch('faq', 'human')).toMatchObject({
    code: 'golden_origin_differs',
    message:
      'The golden set "faq" holds questions of people, which are not to be mixed with questions of a model; choose another name with --set.',
  });
  expect(originMismatch('faq', 'generated').message).toContain(
    'holds questions of a model, which are not to be mixed with questions of people',
  );
});
