/** Makes content of values: one short function for each kind of it. */
import type { Unit } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import type { TrendPoint } from './charts.ts';
import type {
  Column,
  Content,
  ContentNode,
  Fact,
  Form,
  GroupStyle,
  Link,
  ListStyle,
  ParagraphStyle,
  Section,
  Style,
  Table,
  Tone,
  Value,
} from './content.ts';

export function value(shown: number, unit: Unit, low: number | null = null, high: number | null = null): Value {
  return { kind: 'value', value: shown, unit, low, high };
}

/** A stored value with its bounds, unless it is known for certain. */
export function bounded(
  { value: shown, ciLow, ciHigh }: { value: number; ciLow: number | null; ciHigh: number | null },
  unit: Unit,
): Value {
  return ciLow === ciHigh ? value(shown, unit) : value(shown, unit, ciLow, ciHigh);
}

export function time(at: Date): ContentNode {
  return { kind: 'time', at, isExact: false };
}

export function exactTime(at: Date): ContentNode {
  return { kind: 'time', at, isExact: true };
}

/** How long ago it was, which says in words that it is too old, never by colour alone. */
export function age(since: Date, isTooOld = false): ContentNode {
  return { kind: 'age', since, isTooOld };
}

export function badge(text: string, tone: Tone): ContentNode {
  return { kind: 'badge', text, tone };
}

const verdictTexts: Readonly<Record<Verdict, string>> = {
  ok: 'OK',
  warning: 'Warning',
  critical: 'Critical',
  no_data: 'No data',
};

/** @param isBlind whether a check passes because it could not see a failure */
export function verdictBadge(verdict: Verdict, isBlind = false): ContentNode {
  return isBlind ? badge('Blind', 'no_data') : badge(verdictTexts[verdict], verdict);
}

export function link(text: Content, path: string, query: Link['query'] = {}, anchor: string | null = null): Link {
  return { kind: 'link', text, path, query, anchor };
}

export function styled(style: Style, ...content: readonly Content[]): ContentNode {
  return { kind: 'styled', style, content };
}

export function strong(...content: readonly Content[]): ContentNode {
  return styled('strong', ...content);
}

export function quiet(...content: readonly Content[]): ContentNode {
  return styled('quiet', ...content);
}

export function note(...content: readonly Content[]): ContentNode {
  return styled('note', ...content);
}

export function why(...content: readonly Content[]): ContentNode {
  return styled('why', ...content);
}

/** Stands where a value would. */
export function missing(reason: string): ContentNode {
  return styled('missing', reason);
}

export function code(text: string): ContentNode {
  return { kind: 'code', text };
}

/** The id of a document, which may be long. */
export function documentId(id: string): ContentNode {
  return styled('document', code(id));
}

/** Text of people, in which nothing is ours. */
export function verbatim(text: string): ContentNode {
  return { kind: 'verbatim', text };
}

/** What a query asked, or its id where no text may be shown or none was kept. */
export function query(id: string, text: string | null): Content {
  return text === null ? code(id) : [styled('query', verbatim(text)), ' ', quiet(code(id))];
}

export function sparkline(points: readonly TrendPoint[]): ContentNode {
  return { kind: 'sparkline', points };
}

export function paragraph(...content: readonly Content[]): ContentNode {
  return styledParagraph('plain', ...content);
}

export function styledParagraph(style: ParagraphStyle, ...content: readonly Content[]): ContentNode {
  return { kind: 'paragraph', style, content };
}

export function lead(...content: readonly Content[]): ContentNode {
  return styledParagraph('lead', ...content);
}

export function callout(...content: readonly Content[]): ContentNode {
  return styledParagraph('callout', ...content);
}

export function heading(level: 3 | 4, ...content: readonly Content[]): ContentNode {
  return { kind: 'heading', level, content };
}

export function section(
  id: string,
  title: Content,
  parts: Pick<Section, 'lead' | 'aside' | 'tone'>,
  ...content: readonly Content[]
): Section {
  return { kind: 'section', id, title, ...parts, content };
}

export function facts(...shown: readonly (Fact | null)[]): ContentNode {
  return { kind: 'facts', facts: shown.filter((fact) => fact !== null) };
}

export function fact(name: string, shown: Content, detail: Content = null): Fact {
  return { name, value: shown, detail };
}

/** A column that is null is left out. */
export function table<Row>(
  caption: string,
  rows: readonly Row[],
  columns: readonly (Column<Row> | null)[],
  size: Table['size'] = 'plain',
): Table {
  const shown = columns.filter((column) => column !== null);
  return {
    kind: 'table',
    caption,
    size,
    columns: shown.map(([title, , how = '']) => ({
      title,
      isNumber: how.endsWith('number'),
      isMinor: how.startsWith('minor'),
    })),
    rows: rows.map((row) => shown.map(([, cell]) => cell(row))),
  };
}

export function list(style: ListStyle, items: readonly Content[]): ContentNode {
  return { kind: 'list', style, items: items.map((content) => ({ content, tone: null })) };
}

export function tonedList<Item>(
  style: ListStyle,
  items: readonly Item[],
  toneOf: (item: Item) => Tone | 'for' | 'against',
  contentOf: (item: Item) => Content,
): ContentNode {
  return { kind: 'list', style, items: items.map((item) => ({ content: contentOf(item), tone: toneOf(item) })) };
}

/** Why there is nothing to see, and what to do about it. */
export function empty(reason: string, todo: Content = null): ContentNode {
  return { kind: 'empty', why: reason, todo };
}

export function more(summary: string, ...content: readonly Content[]): ContentNode {
  return { kind: 'more', summary, content };
}

export function group(style: GroupStyle, ...content: readonly Content[]): ContentNode {
  return { kind: 'group', style, label: null, content };
}

/** Nothing to choose among fewer than two. */
export function choices(label: string, shown: readonly (readonly [link: Link, isChosen: boolean])[]): Content {
  if (shown.length < 2) return null;
  return { kind: 'choices', label, choices: shown.map(([to, isChosen]) => ({ link: to, isChosen })) };
}

export function pipelineChoices(path: string, pipelines: readonly string[], chosen: string | null): Content {
  if (pipelines.length < 2) return null;
  return choices('Pipelines', [
    [link('All', path), chosen === null],
    ...pipelines.map((pipeline) => [link(pipeline, path, { pipeline }), pipeline === chosen] as const),
  ]);
}

/** Asks the services of the pipeline, and shows the page with the answer in that section. */
export function ask(toSection: string, text: string, does: string): Form {
  return {
    kind: 'form',
    action: null,
    section: toSection,
    content: paragraph({ kind: 'button', text }, ' ', does),
    forbidden: paragraph(`${text}: ${does} It needs an API key of scope admin.`),
  };
}
