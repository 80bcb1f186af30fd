/** Share of the count at a boundary that a count may lie beyond it without another class. */
const BAND = 0.25;

/**
 * The order of magnitude of a store, as a trait of its description: floor(log4(count)), `empty` for 0.
 *
 * A store that grows by some documents a day keeps its class for months; one that lost three quarters of its
 * documents, or was filled anew, does not.
 */
export function sizeClass(count: number): string {
  if (count < 1) return 'empty';
  let size = 0;
  for (let rest = Math.floor(count); rest >= 4; rest = Math.floor(rest / 4)) size += 1;
  return String(size);
}

/** The counts of a class, as people read them. */
export function sizeClassText(size: string): string {
  if (size === 'empty') return 'none';
  const [least, next] = [4 ** Number(size), 4 ** (Number(size) + 1)];
  return `about ${least} to ${next}`;
}

/**
 * The class of a count after `previous`, which stays while the count is within 25 % of the boundary to it: a store
 * whose count swings around a power of 4 would otherwise change its class with every swing. An empty store that was
 * filled, or one that was emptied, changes it at once.
 */
export function steadySizeClass(count: number, previous: string | undefined): string {
  const current = sizeClass(count);
  if (previous === undefined || current === 'empty' || previous === 'empty') return current;
  if (Math.abs(Number(current) - Number(previous)) !== 1) return current;
  const boundary = 4 ** Math.max(Number(current), Number(previous));
  return Math.abs(count - boundary) <= BAND * boundary ? previous : current;
}
