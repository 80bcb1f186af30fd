/** Where the story is told. */
type Emphasis = 'red' | 'yellow' | 'green' | 'bold' | 'dim';

export interface Output {
  /** A line to the person who watches. */
  readonly print: (line: string) => void;
  /** What goes on, in a line that the next one takes the place of; null ends it. Shown on a terminal alone. */
  readonly progress: (text: string | null) => void;
  /** Styled where that can be seen. */
  readonly styled: (emphasis: Emphasis, text: string) => string;
}

/** Of lines of text, in characters. */
export const WIDTH = 100;
const LABEL = 12;

/** Tells a text under a label, in lines that fit. */
export function reportPart({ print, styled }: Output, label: string, text: string, emphasis: Emphasis = 'dim'): void {
  for (const [index, line] of wrapped(text, WIDTH - LABEL - 2).entries()) {
    const name = (index === 0 ? label : '').padEnd(LABEL);
    print(`  ${styled(emphasis, name)}${line}`);
  }
}

/** Words in lines of at most `width` characters; a longer word has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
