/** What can be wrong with a document of an index; a closed list, so that it can be a label of a metric. */
export const findingKinds = ['missing', 'unretrievable', 'orphaned', 'superseded', 'other_model'] as const;

export type FindingKind = (typeof findingKinds)[number];

/** For headings and tables. */
export const findingWords: Readonly<Record<FindingKind, string>> = {
  missing: 'missing',
  unretrievable: 'not retrieved',
  orphaned: 'orphaned',
  superseded: 'superseded',
  other_model: 'of another model',
};
