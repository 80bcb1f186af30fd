import type { RetrievedDocument } from '../../model.ts';
import type { TraceFragment } from '../rules/otel/trace-fragment.ts';

/** A fragment of a trace as it is held until its live queries come: text redacted, users and sessions hashed. */
export interface HeldFragment
  extends Pick<TraceFragment, 'kind' | 'traceId' | 'spanId' | 'endedAtUnixNano' | 'pipeline' | 'within'> {
  /** Numbers the fragments of one span from 0. */
  readonly part: number;
  readonly receivedAt: Date;
  readonly text: string | null;
  readonly textHash: string | null;
  readonly embedding: Float32Array | null;
  readonly embedderVersion: string | null;
  readonly topK: number | null;
  readonly results: readonly RetrievedDocument[] | null;
  readonly sessionHash: string | null;
  /** What stands for the session of a query of this trace that has none; null unless `sessionHash` is told. */
  readonly traceHash: string | null;
  readonly userHash: string | null;
}
