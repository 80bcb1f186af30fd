/**
 * Text as PostgreSQL keeps it: half of a surrogate pair becomes U+FFFD. The driver does so with parameters of its
 * own accord; inside JSON such text is an error.
 */
export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}
