/** Renders content as Markdown, for files, chats and issues. Each chart becomes one line; forms are omitted. */
import type { Content, ContentNode, Table } from './model/content.ts';
import { nodesOf, plainText } from './terminal.ts';

export function markdown(content: Content, now: Date): string {
  return `${blocksOf(content, now).join('\n\n')}\n`;
}

function blocksOf(content: Content, now: Date): string[] {
  return nodesOf(content).flatMap((node): string[] => {
    if (typeof node !== 'object') return [escaped(String(node))];
    return blockOf(node, now);
  });
}

function blockOf(node: ContentNode, now: Date): string[] {
  // oxlint-disable-next-line switch-exhaustiveness-check -- the others are inline
  switch (node.kind) {
    case 'section':
      return [`## ${textOf(node.title, now)}`, ...blocksOf(node.lead, now), ...blocksOf(node.content, now)];
    case 'heading':
      return [`${'#'.repeat(node.level)} ${textOf(node.content, now)}`];
    case 'group':
    case 'more':
      return blocksOf(node.content, now);
    case 'facts':
      return [
        node.facts
          .map(({ name, value, detail }) => {
            const more = textOf(detail, now);
            return `- **${escaped(name)}**: ${textOf(value, now)}${more === '' ? '' : ` (${more})`}`;
          })
          .join('\n'),
      ];
    case 'list':
      return [node.items.map(({ content }) => `- ${textOf(content, now)}`).join('\n')];
    case 'table':
      return [tableOf(node, now)];
    default: {
      const text = textOf(node, now);
      return text === '' ? [] : [text];
    }
  }
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function tableOf({ columns, rows }: Table, now: Date): string {
  return [
    line(columns.map(({ title }) => escaped(title))),
    line(columns.map(({ isNumber }) => (isNumber ? '--:' : '---'))),
    ...rows.map((cells) => line(cells.map((cell) => textOf(cell, now)))),
  ].join('\n');
}

function textOf(content: Content, now: Date): string {
  return escaped(plainText(content, now))
    .replaceAll(/\s*\n\s*/g, ' ')
    .trim();
}

/** Escapes Markdown formatting, but not backticks, because recalld marks code with backticks. */
function escaped(text: string): string {
  return text.replaceAll(/[\\*_[\]<>|#]/g, String.raw`\$&`);
}
