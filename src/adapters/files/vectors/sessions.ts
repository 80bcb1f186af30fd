import { malformed, type SourceLine } from '../../../core/golden/source-line.ts';
import { sourceLines } from '../source-lines.ts';

/**
 * The session of each row of a vector file: one name on each line, in the order of the rows. Numbered from 0 in the
 * order of their first row.
 *
 * @throws RecalldError `file_unreadable`; `file_malformed` for an empty line before the last name
 */
export async function readSessions(path: string): Promise<Uint32Array> {
  const numbers = new Map<string, number>();
  const sessions: number[] = [];
  let firstEmpty: SourceLine | null = null;
  for await (const lines of sourceLines(path)) {
    for (const line of lines) {
      const name = line.text.trim();
      if (name === '') {
        firstEmpty ??= line;
        continue;
      }
      if (firstEmpty !== null) throw malformed(firstEmpty, 'names no session; write one on each line');
      const number = numbers.get(name) ?? numbers.size;
      numbers.set(name, number);
      sessions.push(number);
    }
  }
  return Uint32Array.from(sessions);
}
