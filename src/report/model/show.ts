/** Builders of content, one for each kind of node. */
import type { Unit } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import type { NormalRange, TrendPoint } from './charts.ts';
import type {
  Button,
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

/** A stored value with its confidence interval; an interval of width 0 is omitted. */
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

/** Shows the time since `since`. An age that is too old is marked in words, not only by color. */
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

/** @param isBlind true for a check that passes but has too little data to detect a failure */
export function verdictBadge(verdict: Verdict, isBlind = false): ContentNode {
  return isBlind ? badge('Blind', 'no_data') : badge(verdictTexts[verdict], verdict);
}

export function link(text: Content, path: string, query: Link['query'] = {}, anchor: string | null = null): Link {
  return { kind: 'link', text, path, query, anchor };
}

export function styled(style: Style, ...content: readonly Content[]): ContentNode {
  return { kind: 'styled', style, content };
}

const inStyle =
  (style: Style) =>
  (...content: readonly Content[]): ContentNode =>
    styled(style, ...content);

export const strong = inStyle('strong');
export const quiet = inStyle('quiet');
export const note = inStyle('note');
export const why = inStyle('why');

export function missing(reason: string): ContentNode {
  return styled('missing', reason);
}

export function code(text: string): ContentNode {
  return { kind: 'code', text };
}

export function documentId(id: string): ContentNode {
  return styled('document', code(id));
}

/** Text from users or documents, in which backticks have no meaning. */
export function verbatim(text: string): ContentNode {
  return { kind: 'verbatim', text };
}

/** Shows the text of a query with its id, or the id alone if the text was not stored or may not be shown. */
export function query(id: string, text: string | null): Content {
  return text === null ? code(id) : [styled('query', verbatim(text)), ' ', quiet(code(id))];
}

export function sparkline(points: readonly TrendPoint[], normal: NormalRange | null = null): ContentNode {
  return { kind: 'sparkline', points, normal };
}

export function styledParagraph(style: ParagraphStyle, ...content: readonly Content[]): ContentNode {
  return { kind: 'paragraph', style, content };
}

const paragraphIn =
  (style: ParagraphStyle) =>
  (...content: readonly Content[]): ContentNode =>
    styledParagraph(style, ...content);

export const paragraph = paragraphIn('plain');
export const lead = paragraphIn('lead');
export const callout = paragraphIn('callout');

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

/** @param columns null entries are omitted */
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

export function empty(reason: string, todo: Content = null): ContentNode {
  return { kind: 'empty', why: reason, todo };
}

export function more(summary: string, ...content: readonly Content[]): ContentNode {
  return { kind: 'more', summary, content };
}

export function group(style: GroupStyle, ...content: readonly Content[]): ContentNode {
  return { kind: 'group', style, label: null, content };
}

/** Builds a row of links, in which the chosen link is marked; null for fewer than two links. */
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

export function button(text: string, attributes: Button['attributes'] = {}): Button {
  return { kind: 'button', text, attributes };
}

/** A button that makes recalld call the pipeline's services and show the result in the section named by `toSection`. */
export function ask(toSection: string, text: string, description: string): Form {
  return {
    kind: 'form',
    action: null,
    section: toSection,
    content: paragraph(button(text), ' ', description),
    forbidden: paragraph(`${text}: ${description} Requires an API key with the admin scope.`),
  };
}
