/** Readers that come together read once. */

/**
 * A read that whoever asks while it is under way shares. Such a caller may get what stood there before it asked: for
 * readers of one moment, such as the gauges of a scrape, and for nobody who has just written.
 */
export function sharedReading<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null;
  return () => {
    reading ??= read().finally(() => {
      reading = null;
    });
    return reading;
  };
}
