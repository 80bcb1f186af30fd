/** How much one OTLP request may hold, beside its bytes. */
export interface OtlpLimits {
  /** Spans or log records. */
  readonly maxItems: number;
  /** Protobuf fields, or arrays and objects of JSON: each costs memory, however few bytes it has. */
  readonly maxFields: number;
  /** How deep the value of an attribute may nest. */
  readonly maxDepth: number;
}

export const defaultOtlpLimits: OtlpLimits = {
  maxItems: 10_000,
  maxFields: 2_000_000,
  maxDepth: 16,
};
