import { Presets, SingleBar } from 'cli-progress';
import { visibleText } from '../core/text/visible-text.ts';

/** Shows progress on stderr if it is a terminal. */
export function createProgressBar(label: string) {
  if (!process.stderr.isTTY) return { show: () => undefined, end: () => undefined };
  const bar = new SingleBar(
    {
      stream: process.stderr,
      format: `${label} {bar} {value}/{total} queries, {eta_formatted} left`,
      clearOnComplete: true,
      hideCursor: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  return {
    show({ answered, total }: { readonly answered: number; readonly total: number }) {
      if (started) bar.update(answered);
      else bar.start(total, answered);
      started = true;
    },
    end() {
      if (started) bar.stop();
    },
  };
}

/** Replaces the progress line on stderr; null clears it. Does nothing if stderr is not a terminal. */
export function showProgressLine(text: string | null): void {
  const { stderr } = process;
  if (!stderr.isTTY) return;
  stderr.cursorTo(0);
  stderr.clearLine(1);
  // Some terminals do not report their width.
  if (text !== null) stderr.write(visibleText(text).slice(0, (stderr.columns || 80) - 1));
}
