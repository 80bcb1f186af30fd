import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Returns a function that accepts one item per call. Calls that are made at the same time, or while a batch is running,
 * form the next batch. If `run` rejects, all calls of the batch reject.
 *
 * @param run returns one result per item, in order
 */
export function combineCalls<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  let waiting: { readonly items: Item[]; readonly results: Promise<readonly Result[]> } | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const openBatch = () => {
    const items: Item[] = [];
    const results = last
      .then(() => nextTurn())
      .then(() => {
        waiting = null;
        return run(items);
      });
    last = results.catch(() => undefined);
    return { items, results };
  };
  return async (item) => {
    waiting ??= openBatch();
    const { items, results } = waiting;
    const at = items.push(item) - 1;
    return (await results)[at] as Result;
  };
}
