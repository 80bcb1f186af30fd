/** The one way in which a job works over many pipelines: several at once, to the end, and never silent about a failure. */
import { messageOf } from '../../core/errors.ts';

/** Work of a job that failed for some pipelines, after all others were done. `errors` has one error per failed work. */
export class PipelinesFailedError extends AggregateError {
  /** Names of the pipelines that failed, each once, sorted. */
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

/** Names of pipelines in a message per reason; `pipelines` has them all. */
const MAX_NAMES = 20;

/** `docs, faq: the database does not answer; wiki: the disk is full`, the most frequent reason first. */
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

/** Pipelines at once, unless a job has a reason for another number: each waits mostly for its store or the database. */
const AT_ONCE = 4;

/**
 * Does some work for each pipeline, a few at once, and goes on with the others where it fails. An item is a pipeline or
 * what a subject plans for one; several items of one pipeline are fine.
 *
 * What counts as a failure is in docs/decisions/0024: work throws when it could not be done and left no record of why.
 *
 * @param atOnce most items at a time
 * @throws PipelinesFailedError after all items were tried. When the time of the job is up, it names those that were not
 *   done too.
 * @throws the reason of `signal` when it aborts for another reason; what is in hand has ended by then
 */
export async function forEachPipeline<Item extends { readonly pipeline: string } | { readonly name: string }>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item) => Promise<unknown>,
  atOnce = AT_ONCE,
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
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  if (signal.aborted && !isTimeout(signal.reason)) throw signal.reason;
  if (failures.length > 0) throw new PipelinesFailedError(failures);
}

/**
 * Takes the steps of a job in their order; one that fails keeps none of the others from it, but nothing begins after
 * `signal` has aborted.
 *
 * @throws what failed, after all steps were taken; several as one PipelinesFailedError or AggregateError
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
