/** Joins the writes of requests that arrive together into one statement, and tells each when its part is committed. */
import { RecalldError } from '../../errors.ts';

interface MicroBatchSettings<Item, Result> {
  /** Writes a batch; what it resolves with is handed out item by item, in order. */
  readonly write: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** What an item counts for; 1 unless told otherwise. */
  readonly weigh?: (item: Item) => number;
  /** Weight of a batch. */
  readonly maxItems: number;
  /** How long the first item waits for company while nothing is being written. */
  readonly maxWaitMs: number;
  /** Beyond so much waiting weight a call is refused at once. */
  readonly maxWaiting: number;
  /** Batches in flight at a time; others than the first are full ones. */
  readonly concurrency: number;
}

interface Waiting<Item, Result> {
  readonly items: readonly Item[];
  readonly weight: number;
  readonly resolve: (results: readonly Result[]) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * A function that writes items in batches with those of other callers. A call is never split over two batches; one
 * that is larger than `maxItems` is a batch of its own. When a batch fails, every call in it fails.
 */
export function createMicroBatch<Item, Result>(
  settings: MicroBatchSettings<Item, Result>,
): (items: readonly Item[]) => Promise<readonly Result[]> {
  const { weigh } = settings;
  const weightOf = (items: readonly Item[]): number =>
    weigh === undefined ? items.length : items.reduce((sum, item) => sum + weigh(item), 0);
  let waiting: Waiting<Item, Result>[] = [];
  let waitingWeight = 0;
  let inFlight = 0;
  let timer: NodeJS.Timeout | null = null;

  /** Small calls wait for the batch before theirs, so that the busier the caller, the more share a statement. */
  const isDue = (): boolean =>
    inFlight === 0 || (inFlight < settings.concurrency && waitingWeight >= settings.maxItems);

  const flush = async (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.length === 0 || !isDue()) return;
    const calls = takeCalls();
    inFlight++;
    try {
      const results = await settings.write(calls.flatMap((call) => call.items));
      let from = 0;
      for (const call of calls) {
        call.resolve(results.slice(from, from + call.items.length));
        from += call.items.length;
      }
    } catch (error) {
      for (const call of calls) call.reject(error);
    } finally {
      inFlight--;
      // What came while we wrote has waited long enough.
      void flush();
    }
  };

  const takeCalls = (): Waiting<Item, Result>[] => {
    let count = 0;
    let weight = 0;
    for (const call of waiting) {
      if (count > 0 && weight + call.weight > settings.maxItems) break;
      weight += call.weight;
      count++;
    }
    waitingWeight -= weight;
    return waiting.splice(0, count);
  };

  return (items) =>
    new Promise((resolve, reject) => {
      if (waitingWeight > settings.maxWaiting) {
        reject(new RecalldError('overloaded', `${waitingWeight} items wait to be stored; send again later.`));
        return;
      }
      const weight = weightOf(items);
      waiting.push({ items, weight, resolve, reject });
      waitingWeight += weight;
      if (waitingWeight >= settings.maxItems) void flush();
      else timer ??= setTimeout(() => void flush(), settings.maxWaitMs);
    });
}
