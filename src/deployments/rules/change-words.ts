/** What changed of a part, in words; traits that no word is known for keep their names. */
import { sizeClassText } from '../../vector/size-class.ts';
import type { TraitChange } from './deployment.ts';

interface TraitWords {
  readonly name: string;
  readonly value?: (value: string) => string;
}

const canaryWords: Readonly<Record<string, string>> = { steady: 'as at first', moved: 'other than at first' };

const words: ReadonlyMap<string, TraitWords> = new Map([
  ['size_class', { name: 'vectors in the store', value: sizeClassText }],
  ['canary', { name: 'vectors of fixed texts', value: (value: string) => canaryWords[value] ?? value }],
  ['identity', { name: 'embedding model' }],
  ['grades', { name: 'grades of fixed pairs' }],
  ['dimensions', { name: 'dimensions of a vector' }],
  ['metric', { name: 'measure of distance' }],
  ['kind', { name: 'kind of store' }],
]);

export function changeInWords({ trait, before, after }: TraitChange): TraitChange {
  const known = words.get(trait);
  const told = (value: string | null) => (value === null ? null : (known?.value?.(value) ?? value));
  return { trait: known?.name ?? trait, before: told(before), after: told(after) };
}
