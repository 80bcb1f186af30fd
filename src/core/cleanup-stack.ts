/** Owns every resource that the program opens and gives them back in the reverse order of their opening. */

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
        logger.warn('something did not close cleanly', {
          what: entry.name,
          reason: messageOf(error),
        });
      }
    }
    closing = null;
  };
  return {
    /** Name of what is being closed now; null before and after. */
    get closing() {
      return closing;
    },
    /** Registers what closes a resource that was just opened. */
    defer: (name: string, close: () => Promise<void> | void): void => {
      entries.push({ name, close });
    },
    /** Closes all, last opened first. Runs once; a failure is logged and does not keep the rest open. */
    run: (): Promise<void> => {
      running ??= closeAll();
      return running;
    },
  };
}
