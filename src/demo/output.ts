type Emphasis = 'red' | 'yellow' | 'green' | 'bold' | 'dim';

export interface Output {
  readonly print: (line: string) => void;
  /** Replaces the progress line, which appears only on a terminal; null removes the line. */
  readonly progress: (text: string | null) => void;
  /** Styles text on a terminal; elsewhere, returns it unchanged. */
  readonly styled: (emphasis: Emphasis, text: string) => string;
}

/** Maximum length of a line, in characters. */
export const WIDTH = 100;
const LABEL = 12;

/** Prints a label and, next to it, text wrapped to the width. */
export function printLabeled({ print, styled }: Output, label: string, text: string, emphasis: Emphasis = 'dim'): void {
  for (const [index, line] of wrapped(text, WIDTH - LABEL - 2).entries()) {
    const name = (index === 0 ? label : '').padEnd(LABEL);
    print(`  ${styled(emphasis, name)}${line}`);
  }
}

/** Wraps text to lines of at most `width` characters; a longer word is placed on a separate line. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
