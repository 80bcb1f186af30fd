/** Ctrl-C and its kin: the first asks for an orderly stop, the second ends the program at once. */
import { RecalldError } from '../errors.ts';
import { exitCodeOfKind } from './exit-code.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A signal that aborts when the program is asked to stop. Children notice our end by themselves, so ending at once is safe. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of signals) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(exitCodeOfKind.interrupted);
      controller.abort(new RecalldError('interrupted', `Stopped by ${name}.`));
    });
  }
  return controller.signal;
}

/**
 * A signal that aborts when the process that started us is gone. For programs of a terminal alone: a daemon shall
 * outlive its shell.
 */
export function parentGone(): AbortSignal {
  const controller = new AbortController();
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    controller.abort(new RecalldError('interrupted', 'Stopped, since the process that started it is gone.'));
  }, 1000);
  watch.unref();
  return controller.signal;
}
