import { expect, it } from 'vitest';
import { changeInWords } from '../../../../../src/live/deployments/rules/deployment.ts';

it('describes changes of an index or embedder in words, and other traits by their own name', () => {
  expect(
    [
      { trait: 'size_class', before: '3', after: '4' },
      { trait: 'size_class', before: 'empty', after: '0' },
      { trait: 'canary', before: 'steady', after: 'moved' },
      { trait: 'identity', before: null, after: 'e5' },
      { trait: 'lists', before: '100', after: '200' },
    ].map(changeInWords),
  ).toEqual([
    { trait: 'vectors in the store', before: 'about 64 to 256', after: 'about 256 to 1024' },
    { trait: 'vectors in the store', before: 'none', after: 'about 1 to 4' },
    { trait: 'embedding canary', before: 'unchanged', after: 'changed' },
    { trait: 'embedding model', before: null, after: 'e5' },
    { trait: 'lists', before: '100', after: '200' },
  ]);
});
