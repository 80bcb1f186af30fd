/** What a search must know of a store before it is sent, asked once. */
import { type Attempt, dimensionMismatch, failureCode } from './outcome.ts';

interface Shape {
  /** Length of the vectors, null when the store does not say. */
  readonly dimensions: number | null;
}

export interface RememberedShape<S extends Shape> {
  /** Asks the store at the first call only. */
  current(attempt: Attempt): Promise<S>;
  /** Asks the store, whatever is remembered. */
  fresh(attempt: Attempt): Promise<S>;
  /**
   * Runs a search by the remembered shape. A vector of the wrong length is refused before anything is sent; since a
   * store may have been built anew, the shape is asked for once more before that, and after a search that failed
   * for another reason than the connection.
   */
  search<Value>(
    vector: Float32Array,
    attempt: Attempt,
    run: (shape: S, attempt: Attempt) => Promise<Value>,
  ): Promise<Value>;
}

export function rememberShape<S extends Shape>(
  service: string,
  ask: (attempt: Attempt) => Promise<S>,
): RememberedShape<S> {
  let remembered: S | undefined;
  const fresh = async (attempt: Attempt): Promise<S> => {
    remembered = undefined;
    // What a store is made of is known at once, so that one that hangs is noticed before the patience of a scan.
    remembered = await ask({ ...attempt, patience: 1 });
    return remembered;
  };
  const current = async (attempt: Attempt): Promise<S> => remembered ?? fresh(attempt);
  const check = (shape: S, vector: Float32Array): void => {
    if (shape.dimensions !== null && shape.dimensions !== vector.length) {
      throw dimensionMismatch(service, shape.dimensions, vector.length);
    }
  };

  return {
    current,
    fresh,
    async search(vector, attempt, run) {
      const isKnown = remembered !== undefined;
      let shape = await current(aside(attempt));
      if (isKnown && shape.dimensions !== vector.length) shape = await fresh(aside(attempt));
      check(shape, vector);
      try {
        return await run(shape, attempt);
      } catch (error) {
        if (isKnown && isAboutTheRequest(error)) {
          check(await fresh(aside(attempt)), vector);
        }
        throw error;
      }
    },
  };
}

function isAboutTheRequest(error: unknown): boolean {
  return /^(http_4(00|22)|collection_missing|request_refused)$/.test(failureCode(error) ?? '');
}

/** The latency of a search is that of the search alone. */
function aside(attempt: Attempt): Attempt {
  return { ...attempt, stopwatch: { latencyMs: 0 } };
}
