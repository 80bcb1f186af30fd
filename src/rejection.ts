/** Why an item that a service sent is not accepted. Codes are part of the HTTP contract; messages never quote the text. */
export const rejectionTable = {
  invalid_field: 'A field is missing, has the wrong type or is out of range.',
  unknown_field: 'A field is not part of the contract.',
  unknown_pipeline: 'The config has no pipeline of that name.',
  text_too_long: 'A text is longer than its limit.',
  control_characters: 'A text or an id holds control characters or broken Unicode.',
  embedding_malformed: 'The embedding is neither a list of numbers nor base64 of float32 values.',
  embedding_not_finite: 'The embedding holds NaN or an infinity.',
  embedding_zero: 'The embedding is the zero vector, which has no direction.',
  embedding_wrong_dimension: 'The embedding has another length than the vectors of its pipeline.',
  occurred_in_future: 'occurred_at is in the future; the clock of the service is wrong.',
  occurred_too_long_ago: 'occurred_at is before the retention of the pipeline.',
} as const;

export type RejectionCode = keyof typeof rejectionTable;

export interface Rejection {
  readonly code: RejectionCode;
  /** One sentence that names the field and the way out. */
  readonly message: string;
}
