/** What can be wrong with a document of an index; a closed list, so that it can be a label of a metric. */
export const findingKinds = ['missing', 'unretrievable', 'orphaned', 'superseded', 'other_model'] as const;

export type FindingKind = (typeof findingKinds)[number];

/** Of what documents are named: beside what is wrong, changes that wait for longer than they may. */
export const namedKinds = [...findingKinds, 'late'] as const;

export type NamedKind = (typeof namedKinds)[number];

/** For headings and tables. */
export const findingWords: Readonly<Record<NamedKind, string>> = {
  missing: 'missing',
  unretrievable: 'not retrieved',
  orphaned: 'orphaned',
  superseded: 'superseded',
  other_model: 'of another model',
  late: 'late',
};
