/**
 * Width of the hysteresis, as a share of the count at the boundary between two classes. The class changes only if the
 * count is beyond the boundary by more than this share.
 */
const BAND = 0.25;

/**
 * Returns the order of magnitude of the size of a store: floor(log4(count)), or `empty` for 0.
 *
 * A store that grows by a few documents per day stays in its class for months. A store that loses three quarters of its
 * documents, or is refilled, changes class.
 */
export function sizeClass(count: number): string {
  if (count < 1) return 'empty';
  let size = 0;
  for (let rest = Math.floor(count); rest >= 4; rest = Math.floor(rest / 4)) size += 1;
  return String(size);
}

/** Formats the range of counts that a size class covers: `about 16 to 64`. */
export function sizeClassText(size: string): string {
  if (size === 'empty') return 'none';
  const [minimum, next] = [4 ** Number(size), 4 ** (Number(size) + 1)];
  return `about ${minimum} to ${next}`;
}

/**
 * Returns the class of a count, with hysteresis: the class remains `previous` while the count is within 25 % of the
 * boundary between `previous` and an adjacent class. Without hysteresis, the class of a store whose count varies around
 * a power of 4 would keep changing. Filling an empty store, or emptying one, changes the class immediately.
 */
export function steadySizeClass(count: number, previous: string | undefined): string {
  const current = sizeClass(count);
  if (previous === undefined || current === 'empty' || previous === 'empty') return current;
  if (Math.abs(Number(current) - Number(previous)) !== 1) return current;
  const boundary = 4 ** Math.max(Number(current), Number(previous));
  return Math.abs(count - boundary) <= BAND * boundary ? previous : current;
}
