/** A sample as probes of the store need it. */
export interface DrawnSample {
  readonly id: string;
  /** As it was stored; null in hash mode. */
  readonly text: string | null;
  readonly embedding: Float32Array | null;
  /** Inclusion probability: the sample stands for 1 / probability live queries. */
  readonly probability: number;
  /** Names what was sampled as a whole. */
  readonly sessionHash: string;
}

export interface LiveSamples {
  /** At most `limit` samples that arrived since then and have a text or a vector, drawn at random. */
  draw(request: {
    readonly pipeline: string;
    readonly since: Date;
    readonly limit: number;
  }): Promise<readonly DrawnSample[]>;
}
