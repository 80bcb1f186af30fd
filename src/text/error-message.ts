/**
 * What an error says, for a log or within a sentence. One that stands for several and says nothing itself, as when a
 * host has two addresses and neither answers, says what each of them says, once.
 */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set(error.errors.map(messageOf))].join('; ');
  }
  return error.name;
}
