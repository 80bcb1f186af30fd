/** Cuts a stream of bytes into lines. */

const LINE_FEED = 10;

/**
 * Takes chunks and hands over each line that is complete, as UTF-8 without its line end; empty lines are left out.
 * What is not ended after `maxBytes` is handed to `onTooLong`, and nothing after it: no more than that is ever kept.
 */
export function createLineCutter(
  maxBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isOver = false;

  const endLine = (): void => {
    const line = Buffer.concat(parts).toString('utf8').trim();
    parts = [];
    bytes = 0;
    if (line !== '') onLine(line);
  };

  return (chunk) => {
    let rest = chunk;
    while (!isOver) {
      const end = rest.indexOf(LINE_FEED);
      const part = end === -1 ? rest : rest.subarray(0, end);
      bytes += part.byteLength;
      if (bytes > maxBytes) {
        isOver = true;
        parts = [];
        onTooLong();
        return;
      }
      parts.push(part);
      if (end === -1) return;
      endLine();
      rest = rest.subarray(end + 1);
    }
  };
}
