/** A request to a model that talks. */
export interface ChatRequest {
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  /** JSON Schema that the answer must have, with a name for it. */
  readonly schema: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> };
  readonly maxTokens: number;
  readonly seed: number;
}

export interface TokenUsage {
  readonly input: number;
  readonly output: number;
}

/**
 * What a call came to. A failure is an outcome and never thrown; `message` names service, call and the way out, and
 * holds no secret and nothing of the request.
 */
export type ChatAnswer =
  | {
      readonly kind: 'text';
      readonly text: string;
      /** Whether the model ended by itself; a text that was cut off is no JSON. */
      readonly isWhole: boolean;
      /** Null when the service does not count. */
      readonly usage: TokenUsage | null;
    }
  | { readonly kind: 'refused'; readonly usage: TokenUsage | null }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

export interface ChatModel {
  /** Name of the model, for the record. */
  readonly model: string;
  /** Rejects only with the reason of `signal`. */
  answer(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
}
