import { messageOf } from './errors.ts';
import type { Logger } from './logger.ts';

export type CleanupStack = ReturnType<typeof createCleanupStack>;

export function createCleanupStack(logger: Logger) {
  const entries: { readonly name: string; readonly close: () => Promise<void> | void }[] = [];
  let running: Promise<void> | null = null;
  let closing: string | null = null;
  const closeAll = async (): Promise<void> => {
    for (let entry = entries.pop(); entry !== undefined; entry = entries.pop()) {
      closing = entry.name;
      try {
        await entry.close();
      } catch (error) {
        logger.warn('a resource did not close cleanly', {
          what: entry.name,
          reason: messageOf(error),
        });
      }
    }
    closing = null;
  };
  return {
    /** Name of the resource that is being closed; null if none is. */
    get closing() {
      return closing;
    },
    defer: (name: string, close: () => Promise<void> | void): void => {
      entries.push({ name, close });
    },
    /** Closes all resources in reverse order, once, even if some fail to close. */
    run: (): Promise<void> => {
      running ??= closeAll();
      return running;
    },
  };
}
