import type { Meter } from './meter.ts';

const INTERVAL_MS = 100;

/**
 * Observes ten times a second by how much a timer comes late, which is how long whatever arrived meanwhile had to wait.
 * A wait is seen once, however long it was. Does not keep the process alive.
 *
 * @returns ends it
 */
export function watchEventLoop(meter: Pick<Meter, 'observe'>): () => void {
  let dueAt = performance.now() + INTERVAL_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    meter.observe('recalld_event_loop_lag_seconds', {}, Math.max(0, now - dueAt) / 1000);
    dueAt = now + INTERVAL_MS;
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
