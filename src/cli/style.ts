/** Colours and small charts for terminals; plain text anywhere else. */
import { styleText } from 'node:util';

type Format = 'red' | 'yellow' | 'green' | 'bold' | 'dim';

/** Styled on a terminal alone; NO_COLOR, FORCE_COLOR and the like are honoured (https://no-color.org). */
export function styled(format: Format, text: string): string {
  return styleText(format, text, { stream: process.stdout, validateStream: true });
}

const formatOf: Readonly<Record<string, Format>> = {
  ok: 'green',
  improvement: 'green',
  warning: 'yellow',
  no_data: 'yellow',
  inconclusive: 'yellow',
  critical: 'red',
  regression: 'red',
};

/** A verdict in its colour; others as they are. */
export function verdictText(verdict: string): string {
  const format = formatOf[verdict];
  return format === undefined ? verdict : styled(format, verdict);
}

const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** One bar for each value, between the least and the largest; equal values are in the middle. A gap is a space. */
export function sparkline(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  const [least, largest] = [Math.min(...known), Math.max(...known)];
  return values
    .map((value) => {
      if (value === null) return ' ';
      const height = largest === least ? 0.5 : (value - least) / (largest - least);
      return bars[Math.min(bars.length - 1, Math.floor(height * bars.length))] ?? ' ';
    })
    .join('');
}

/** A length of time in its largest unit that fits, such as `3 h`. */
export function ageText(seconds: number): string {
  const units = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
  ] as const;
  const [length, unit] = units.find(([length]) => seconds >= 2 * length) ?? [1, 's'];
  return `${Math.floor(Math.max(0, seconds) / length)} ${unit}`;
}
