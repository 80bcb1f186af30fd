/** Renders content as plain text for a terminal. Omits the URLs of links, and all forms, buttons and choices. */
import { formatAligned, plain, sparkline, styled } from '../cli/output.ts';
import { count, duration, formatBounded, formatValue, minute, percentage, range, second } from '../core/format.ts';
import { stripText } from './console/charts/strips-chart.tsx';
import type { TrendChart } from './model/charts.ts';
import type { Column, Content, ContentNode, Section, Table, Tone } from './model/content.ts';
import { table } from './model/show.ts';

export function terminalText(content: Content, now: Date): string {
  return linesOf(content, now).join('\n').replace(/^\n+/, '');
}

/** Renders a table, which must not contain ages, because ages would require the current time. */
export function tableText<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  return tableOf(table('', rows, columns), new Date(0)).join('\n');
}

/** Returns the lines of content. Each block starts on a new line; inline nodes between two blocks share one line. */
function linesOf(content: Content, now: Date): string[] {
  const lines: string[] = [];
  let open = '';
  const close = () => {
    if (open.trim() !== '') lines.push(open.trim());
    open = '';
  };
  for (const shown of nodesOf(content).map((node) => rendered(node, now))) {
    if (typeof shown === 'string') open += shown;
    else {
      close();
      lines.push(...shown);
    }
  }
  close();
  return lines;
}

export function nodesOf(content: Content): (string | number | ContentNode)[] {
  if (content === null || content === undefined || content === false || content === '') return [];
  if (typeof content === 'string' || typeof content === 'number' || 'kind' in content) return [content];
  return content.flatMap(nodesOf);
}

/** Returns the text of an inline node, or the lines of a block. */
function rendered(node: string | number | ContentNode, now: Date): string | readonly string[] {
  if (typeof node === 'string') return node;
  if (typeof node === 'number') return count(node);
  switch (node.kind) {
    case 'value':
      return formatBounded(node, node.unit);
    case 'time':
      return `${node.isExact ? second(node.at) : minute(node.at)}Z`;
    case 'age': {
      const ago = `${duration((now.getTime() - node.since.getTime()) / 1000)} ago`;
      return node.isTooOld ? `${ago}${styled('yellow', ', too old')}` : ago;
    }
    case 'badge': {
      const colour = colours[node.tone];
      return colour === undefined ? node.text : styled(colour, node.text);
    }
    case 'link':
      return inline(node.text, now);
    case 'styled': {
      const text = inline(node.content, now);
      if (node.style === 'strong') return styled('bold', text);
      if (node.style === 'note') return ` (${text})`;
      if (node.style === 'confidence') return `(${text})`;
      return node.style === 'unseen' ? '' : text;
    }
    case 'code':
    case 'verbatim':
      return node.text;
    case 'progress':
      return percentage(node.value / node.of);
    case 'sparkline':
      return sparkline(node.points.map(({ value }) => value));
    case 'paragraph':
      return linesOf([node.content], now);
    case 'heading':
      return ['', styled('bold', inline(node.content, now))];
    case 'section':
      return sectionOf(node, now);
    case 'facts': {
      const width = Math.max(...node.facts.map(({ name }) => name.length));
      return node.facts.map(({ name, value, detail }) => {
        const more = inline(detail, now);
        return `${name.padEnd(width)}  ${inline(value, now)}${more === '' ? '' : ` (${more})`}`;
      });
    }
    case 'table':
      return tableOf(node, now);
    case 'list':
      return node.items.flatMap(({ content, tone }) => {
        const [first = '', ...rest] = linesOf(content, now);
        return [`  ${tone === 'for' ? '+' : '-'} ${first}`, ...rest.map((line) => `    ${line}`)];
      });
    case 'empty':
      return [`${node.why} ${inline(node.todo, now)}`.trim()];
    case 'more': {
      const lines = linesOf(node.content, now);
      return lines.length === 0 ? [] : [`${node.summary}:`, ...lines];
    }
    case 'group':
      return linesOf(node.content, now);
    case 'trend':
      return [trendOf(node)];
    case 'distribution':
      return node.distributions === null ? [`${node.title}: ${node.empty}`] : [];
    case 'parts':
      return [`${node.title}: ${node.parts.map(({ name, share }) => `${name} ${percentage(share)}`).join(', ')}`];
    case 'strips':
      return node.strips.map(({ label, intervals }) => stripText(label, intervals));
    case 'pager':
      return [`${count(Math.min(node.total, node.pageSize))} of ${count(node.total)} ${node.what}`];
    // Pages offer `lines` for copying; a terminal shows the same values in a table.
    case 'lines':
    case 'choices':
    case 'form':
    case 'input':
    case 'button':
    case 'prose':
      return [];
  }
}

function sectionOf({ title, lead, aside, content }: Section, now: Date): string[] {
  const head = [styled('bold', inline(title, now)), inline(aside, now)].filter((part) => part !== '').join('  ');
  return ['', head, ...linesOf(lead, now), ...linesOf(content, now)];
}

const colours: Readonly<Partial<Record<Tone, 'red' | 'yellow' | 'green'>>> = {
  ok: 'green',
  good: 'green',
  warning: 'yellow',
  no_data: 'yellow',
  critical: 'red',
};

function inline(content: Content, now: Date): string {
  return nodesOf(content)
    .map((node) => {
      const shown = rendered(node, now);
      return typeof shown === 'string' ? shown : shown.map((line) => line.trim()).join('; ');
    })
    .join('');
}

/** Content as one line of text without colors. */
export function plainText(content: Content, now: Date): string {
  return plain(inline(content, now));
}

const isWhy = (node: string | number | ContentNode): boolean =>
  typeof node === 'object' && node.kind === 'styled' && node.style === 'why';

/** Prints a cell's `why` on a separate line below the row. */
function tableOf({ columns, rows }: Table, now: Date): string[] {
  const nodes = rows.map((cells) => cells.map(nodesOf));
  const texts = nodes.map((cells) =>
    cells.map((cell) =>
      inline(
        cell.filter((node) => !isWhy(node)),
        now,
      ),
    ),
  );
  const below = nodes.map((cells) =>
    cells
      .flat()
      .filter(isWhy)
      .map((node) => `  ${inline(node, now)}`),
  );
  const [head = '', ...lines] = formatAligned(
    columns.map(({ title }) => title),
    texts,
    columns.map(({ isNumber }) => isNumber),
  ).split('\n');
  return [head, ...lines.flatMap((line, index) => [line, ...(below[index] ?? [])])];
}

function trendOf({ title, series, unit, empty }: TrendChart): string {
  const summaries = series.flatMap(({ name, points }) => {
    const last = points.at(-1);
    if (last === undefined) return [];
    const values = points.map(({ value }) => value);
    const extremes = range(Math.min(...values), Math.max(...values), unit);
    return [`${series.length > 1 ? `${name} ` : ''}${sparkline(values)} ${formatValue(last.value, unit)}, ${extremes}`];
  });
  return `${title}: ${summaries.length === 0 ? empty : summaries.join('; ')}`;
}
