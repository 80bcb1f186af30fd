/** How much one OTLP request may hold. */
export interface OtlpLimits {
  /** Of the body as it comes. */
  readonly maxBodyBytes: number;
  /** Of the body without its compression. */
  readonly maxInflatedBytes: number;
  /** Spans or log records. */
  readonly maxItems: number;
  /** Protobuf fields, or arrays and objects of JSON: each costs memory, however few bytes it has. */
  readonly maxFields: number;
  /** How deep the value of an attribute may nest. */
  readonly maxDepth: number;
}

/**
 * Room for a full batch of 512 spans of which each tenth holds a vector of 3072 numbers, or each a document list of
 * 30 kB. A body that is made to cost as much as it can takes some 300 MB while it is read.
 */
export const defaultOtlpLimits: OtlpLimits = {
  maxBodyBytes: 16 * 1024 * 1024,
  maxInflatedBytes: 16 * 1024 * 1024,
  maxItems: 10_000,
  maxFields: 2_000_000,
  maxDepth: 16,
};
