import type { FoundEntity } from './rules/found-entities.ts';

/**
 * What a service found in a text, or why that is not known: it failed, did not answer in time (or had no turn for it), or
 * answered what cannot be understood.
 */
export type EntityAnalysis =
  | { readonly kind: 'found'; readonly entities: readonly FoundEntity[] }
  | {
      readonly kind: 'failed' | 'timeout' | 'malformed';
      /** For the log: names the service and the way out, never the text. */
      readonly message: string;
    };

/** A service that finds names and other personal data in texts. */
export interface EntityAnalyzer {
  /** Resolves within the timeout of the config, waiting for its turn included. Never rejects. */
  analyze(text: string): Promise<EntityAnalysis>;
}
