/**
 * Runs a job's work for many pipelines, several at a time. All pipelines are processed, and every failure is reported.
 */
import { messageOf } from '../../core/errors.ts';

/** Thrown after a job has processed all pipelines if it failed for some of them. `errors` has one error per failure. */
export class PipelinesFailedError extends AggregateError {
  /** Names of the failed pipelines, unique and sorted. */
  readonly pipelines: readonly string[];
  readonly failures: readonly PipelineFailure[];

  constructor(failures: readonly PipelineFailure[]) {
    super(
      failures.map(({ error }) => error),
      describeFailures(failures),
    );
    this.name = 'PipelinesFailedError';
    this.failures = failures;
    this.pipelines = [...new Set(failures.map(({ pipeline }) => pipeline))].toSorted();
  }
}

interface PipelineFailure {
  readonly pipeline: string;
  readonly error: unknown;
}

/** Maximum number of pipeline names per reason in a message; the field `pipelines` contains all names. */
const MAX_NAMES = 20;

/**
 * Builds a message such as `docs, faq: the database does not respond; wiki: the disk is full`, with the most frequent
 * reason first.
 */
function describeFailures(failures: readonly PipelineFailure[]): string {
  const namesOf = new Map<string, Set<string>>();
  for (const { pipeline, error } of failures) {
    const reason = messageOf(error);
    namesOf.set(reason, (namesOf.get(reason) ?? new Set()).add(pipeline));
  }
  return [...namesOf]
    .toSorted(([, a], [, b]) => b.size - a.size)
    .map(([reason, names]) => {
      const shown = [...names].slice(0, MAX_NAMES);
      const more = names.size > shown.length ? ` and ${names.size - shown.length} more` : '';
      return `${shown.join(', ')}${more}: ${reason}`;
    })
    .join('; ');
}

/**
 * Default number of pipelines processed at a time. The work for a pipeline consists mostly of waiting for its store or
 * the database.
 */
const CONCURRENCY = 4;

/**
 * Runs `work` for each pipeline, a few at a time, and continues after a failure. An item is a pipeline or a plan for a
 * pipeline; several items may belong to one pipeline. As docs/decisions/0024 requires, `work` throws if it failed and
 * did not record the reason.
 *
 * @throws PipelinesFailedError after all items have been tried. If the job timed out, the error also names the
 * pipelines that were not processed.
 * @throws `signal.reason` if the signal aborts for a reason other than a timeout. Even then, it rejects only after the
 * running work has ended.
 */
export async function forEachPipeline<
  Item extends { readonly pipeline: string } | { readonly name: string; readonly pipeline?: never },
>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item) => Promise<unknown>,
  concurrency = CONCURRENCY,
): Promise<void> {
  const failures: PipelineFailure[] = [];
  const remaining = items.values();
  const lane = async (): Promise<void> => {
    for (const item of remaining) {
      try {
        signal.throwIfAborted();
        await work(item);
      } catch (error) {
        failures.push({ pipeline: 'pipeline' in item ? item.pipeline : item.name, error });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
  if (signal.aborted && !isTimeout(signal.reason)) throw signal.reason;
  if (failures.length > 0) throw new PipelinesFailedError(failures);
}

/**
 * Runs a job's steps in order, and continues after a failed step. No step starts after `signal` has aborted.
 *
 * @throws the error of the failed step, after all steps have run; if several steps failed, one PipelinesFailedError or
 * AggregateError with all errors
 */
export async function attemptEach(steps: readonly (() => Promise<unknown>)[], signal: AbortSignal): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) {
    if (signal.aborted) break;
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) {
    const ofPipelines = errors.filter((error) => error instanceof PipelinesFailedError);
    throw ofPipelines.length === errors.length
      ? new PipelinesFailedError(ofPipelines.flatMap(({ failures }) => failures))
      : new AggregateError(errors);
  }
  signal.throwIfAborted();
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}
