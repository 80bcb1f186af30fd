/** Documents, embedding and queries that all programs share, with the same texts as `../python/corpus.py`. */
import { createHash } from 'node:crypto';

export const documents = new Map([
  ['kb-101', 'Reset your password on the account page. The link in the mail expires after one hour.'],
  ['kb-102', 'Change the delivery address before the parcel leaves the warehouse.'],
  ['kb-103', 'Refunds arrive within five days on the card that paid for the order.'],
  ['kb-104', 'A parcel that is late by three days counts as lost; we send a new one.'],
  ['kb-105', 'Two-factor codes come from an app. Recovery codes replace a lost phone.'],
  ['kb-106', 'Invoices are in the billing tab; it\'s "Download all" that makes an archive.'],
  ['kb-107', 'Cancel a subscription at any time: it ends with the month that was paid.'],
  ['kb-108', "Gift cards can't be exchanged for money – they stay valid for three years."],
]);

export const queries = {
  single: 'How do I reset my password?',
  failed: 'Why does the search time out?',
  empty: 'zzzz',
  streamed: 'How do I cancel my subscription?',
  agent: 'My parcel is late and I lost my phone.',
  agentOnce: 'My invoice is missing.',
};

const DIMENSIONS = 64;

const words = (text) => text.toLowerCase().match(/[a-z]+/g) ?? [];

/** Returns a unit vector of hashed words. */
export function embed(text) {
  const vector = Array.from({ length: DIMENSIONS }, () => 0);
  for (const word of words(text)) {
    const digest = createHash('sha256').update(word).digest();
    vector[digest[0] % DIMENSIONS] += digest[1] % 2 === 0 ? 1 : -1;
  }
  const norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)) || 1;
  return vector.map((value) => value / norm);
}

/** Returns the documents that share the most words with the query, as `{id, text, score}`. */
export function keywordSearch(query, k) {
  if (query === queries.failed) throw new SearchTimeout('no answer from the store');
  const asked = new Set(words(query));
  const found = [...documents].map(([id, text]) => ({
    id,
    text,
    score: new Set(words(text).filter((word) => asked.has(word))).size,
  }));
  return found
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, k);
}

/** The store did not answer. */
export class SearchTimeout extends Error {
  name = 'SearchTimeout';
}
