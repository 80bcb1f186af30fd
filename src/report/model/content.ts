/**
 * What people are shown, before it is a page or text of a terminal: sentences, facts, tables and charts, whose values are
 * numbers with a unit and times. The edge of each subject makes it from what its use cases return; each way to show it is
 * one renderer. JSON is no such way: it is the answer of the API.
 */
import type { Unit } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import type { DistributionChart, PartsChart, StripsChart, TrendChart, TrendPoint } from './charts.ts';

/** States: a word, a shape and a colour, so that none of them speaks alone. */
export type Tone = Verdict | 'neutral' | 'good';

/** Null, false and '' are nothing, and a number is a count. Text between backticks is to be typed as it is. */
export type Content = string | number | null | false | undefined | ContentNode | readonly Content[];

export type ContentNode =
  | Value
  | { readonly kind: 'time'; readonly at: Date; readonly isExact: boolean }
  | { readonly kind: 'age'; readonly since: Date; readonly isTooOld: boolean }
  | { readonly kind: 'badge'; readonly text: string; readonly tone: Tone }
  | Link
  | { readonly kind: 'styled'; readonly style: Style; readonly content: Content }
  | { readonly kind: 'code' | 'verbatim' | 'lines'; readonly text: string }
  /** Of the package, never of people. */
  | { readonly kind: 'prose'; readonly html: string }
  | { readonly kind: 'progress'; readonly value: number; readonly of: number; readonly label: string }
  | { readonly kind: 'sparkline'; readonly points: readonly TrendPoint[] }
  | { readonly kind: 'paragraph'; readonly style: ParagraphStyle; readonly content: Content }
  | { readonly kind: 'heading'; readonly level: 3 | 4; readonly content: Content }
  | Section
  | { readonly kind: 'facts'; readonly facts: readonly Fact[] }
  | Table
  | { readonly kind: 'list'; readonly style: ListStyle; readonly items: readonly ListItem[] }
  | { readonly kind: 'empty'; readonly why: string; readonly todo: Content }
  | { readonly kind: 'more'; readonly summary: string; readonly content: Content }
  | { readonly kind: 'group'; readonly style: GroupStyle; readonly label: string | null; readonly content: Content }
  | Choices
  | Pager
  | Form
  | Input
  | Button
  | TrendChart
  | DistributionChart
  | PartsChart
  | StripsChart;

/** With 95 % bounds; null for what has none. */
export interface Value {
  readonly kind: 'value';
  readonly value: number;
  readonly unit: Unit;
  readonly low: number | null;
  readonly high: number | null;
}

/** `quiet` is beside what it is about; `note` and `why` are below it. */
export type Style =
  | 'strong'
  | 'quiet'
  | 'note'
  | 'why'
  | 'missing'
  | 'confidence'
  | 'unseen'
  | 'document'
  | 'query'
  | 'rose'
  | 'fell'
  | 'relevant'
  | 'unjudged';

export type ParagraphStyle = 'plain' | 'lead' | 'callout' | 'asked' | 'cause' | 'quiet' | 'document';

export type GroupStyle =
  | 'charts'
  | 'sides'
  | 'side'
  | 'filters'
  | 'acts'
  | 'diagnosis'
  | 'topic'
  | 'topic-head'
  | 'topic-parts'
  | 'glance'
  | 'grades';

type Query = Readonly<Record<string, string | number | null | undefined>>;

/** Addresses keep the time that is looked at, unless their query has its own. */
export interface Link {
  readonly kind: 'link';
  readonly text: Content;
  readonly path: string;
  readonly query: Query;
  readonly anchor: string | null;
  /** For those who do not see what it stands beside. */
  readonly label?: string;
  readonly key?: string;
}

export interface Section {
  readonly kind: 'section';
  readonly id: string;
  readonly title: Content;
  /** One line below the title: what this is and how to read it. */
  readonly lead?: Content;
  /** Beside the title. */
  readonly aside?: Content;
  /** How what it is about fares. */
  readonly tone?: Tone;
  readonly content: Content;
}

export interface Fact {
  readonly name: string;
  readonly value: Content;
  readonly detail?: Content;
}

/** The first cell of a row is its header. */
export interface Table {
  readonly kind: 'table';
  /** Says what the table holds. */
  readonly caption: string;
  readonly columns: readonly {
    readonly title: string;
    readonly isNumber: boolean;
    /** Left out on a narrow screen, where what remains says enough. */
    readonly isMinor: boolean;
  }[];
  readonly rows: readonly (readonly Content[])[];
  readonly size: TableSize;
}

/** `dense`: bounds are below their values, for many columns; `compact`: few and short columns, a table on a phone too. */
type TableSize = 'plain' | 'dense' | 'compact';

/** The title of a column, what a row has in it, and how it is shown. */
export type Column<Row> = readonly [
  title: string,
  cell: (row: Row) => Content,
  how?: 'number' | 'minor' | 'minor number',
];

export type ListStyle =
  | 'plain'
  | 'reasons'
  | 'evidence'
  | 'other-causes'
  | 'signs'
  | 'latest-runs'
  | 'notes'
  | 'topics'
  | 'tally'
  | 'judged';

interface ListItem {
  readonly content: Content;
  readonly tone: Tone | 'for' | 'against' | null;
}

interface Choices {
  readonly kind: 'choices';
  readonly label: string;
  readonly choices: readonly { readonly link: Link; readonly isChosen: boolean }[];
}

/** Steps through a long list. */
export interface Pager {
  readonly kind: 'pager';
  readonly what: string;
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  readonly total: number;
  readonly link: (text: string, page: number) => Link;
}

/** What a person with scope admin may do; with method `get`, everybody. */
export interface Form {
  readonly kind: 'form';
  /** Null: asks the page itself, which shows the answer in the section of that id. */
  readonly action: string | null;
  readonly section?: string;
  readonly method?: 'get';
  /** Fields that nobody sees; those without a value are left out. */
  readonly hidden?: Query;
  readonly content: Content;
  /** What it is folded behind, with its name for those who do not see what it is about. */
  readonly fold?: { readonly summary: string; readonly label?: string };
  /** What is said to those who may not. */
  readonly forbidden?: Content;
}

export interface Input {
  readonly kind: 'input';
  readonly type: 'text' | 'checkbox' | 'select';
  readonly name: string;
  readonly label: Content;
  readonly value?: string;
  readonly options?: readonly string[];
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
}

export interface Button {
  readonly kind: 'button';
  readonly text: Content;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
}

/** A page: what stands around its content is the same for all. */
export interface PageContent {
  readonly title: string;
  /** The pipeline that the page is about; null: all of them. */
  readonly pipeline: string | null;
  /** Which of the pages the navigation marks. */
  readonly section:
    | 'status'
    | 'overview'
    | 'golden'
    | 'density'
    | 'traffic'
    | 'judge'
    | 'index'
    | 'experiments'
    | 'checks'
    | 'deployments'
    | null;
  /** Beside the heading: a state, facts. */
  readonly aside?: Content;
  /** False where no time range applies. */
  readonly hasRange?: boolean;
  readonly content: Content;
}
