/** What the caller has to say for spans and log records to become live queries and feedback. */
import type { DocumentIdentity } from './retrieved-documents.ts';
import type { Telemetry } from './span.ts';

export interface ExtractionOptions extends DocumentIdentity {
  /** The pipeline of a span or log record; null when it belongs to none, and is then no retriever of ours. */
  pipelineOf(telemetry: Telemetry): string | null;
  /** The segment keys of a pipeline. */
  segmentKeysOf(pipeline: string): readonly string[];
}
