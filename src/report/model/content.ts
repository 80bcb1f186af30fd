/**
 * Content for people, independent of its output format: sentences, facts, tables and charts that contain times and
 * numbers with units. The code in an `edge/` folder builds content from the results of the use cases next to it.
 * Renderers turn content into pages, Markdown, or text for a terminal. JSON output is not built from content: it has
 * the wire format of the API.
 */
import type { Unit } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import type { DistributionChart, NormalRange, PartsChart, StripsChart, TrendChart, TrendPoint } from './charts.ts';

/** A state, shown by a word, a shape and a color, so that it is never conveyed by color alone. */
export type Tone = Verdict | 'neutral' | 'good';

/** Null, false and '' render nothing; a number is a count. Text between backticks is code, such as a command. */
export type Content = string | number | null | false | undefined | ContentNode | readonly Content[];

export type ContentNode =
  | Value
  | { readonly kind: 'time'; readonly at: Date; readonly isExact: boolean }
  | { readonly kind: 'age'; readonly since: Date; readonly isTooOld: boolean }
  | { readonly kind: 'badge'; readonly text: string; readonly tone: Tone }
  | Link
  | { readonly kind: 'styled'; readonly style: Style; readonly content: Content }
  | { readonly kind: 'code' | 'verbatim' | 'lines'; readonly text: string }
  /** HTML that comes from files of this package, never from users. */
  | { readonly kind: 'prose'; readonly html: string }
  | { readonly kind: 'progress'; readonly value: number; readonly of: number; readonly label: string }
  | { readonly kind: 'sparkline'; readonly points: readonly TrendPoint[]; readonly normal: NormalRange | null }
  | { readonly kind: 'paragraph'; readonly style: ParagraphStyle; readonly content: Content }
  | { readonly kind: 'heading'; readonly level: 3 | 4; readonly content: Content }
  | Section
  | { readonly kind: 'facts'; readonly facts: readonly Fact[] }
  | Table
  | {
      readonly kind: 'list';
      readonly style: ListStyle;
      readonly items: readonly { readonly content: Content; readonly tone: Tone | 'for' | 'against' | null }[];
    }
  | { readonly kind: 'empty'; readonly why: string; readonly todo: Content }
  | { readonly kind: 'more'; readonly summary: string; readonly content: Content }
  | { readonly kind: 'group'; readonly style: GroupStyle; readonly label: string | null; readonly content: Content }
  | {
      readonly kind: 'choices';
      readonly label: string;
      readonly choices: readonly { readonly link: Link; readonly isChosen: boolean }[];
    }
  | Pager
  | Form
  | Input
  | Button
  | TrendChart
  | DistributionChart
  | PartsChart
  | StripsChart;

export interface Value {
  readonly kind: 'value';
  readonly value: number;
  readonly unit: Unit;
  /** Lower bound of the 95 % CI; null if there is none. */
  readonly low: number | null;
  /** Upper bound of the 95 % CI; null if there is none. */
  readonly high: number | null;
}

/** A `quiet` text follows its subject on the same line; `note` and `why` texts are placed below their subject. */
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

export type ParagraphStyle =
  | 'plain'
  | 'headline'
  | 'lead'
  | 'callout'
  | 'silenced'
  | 'asked'
  | 'cause'
  | 'quiet'
  | 'document';

export type GroupStyle =
  | 'stack'
  | 'charts'
  | 'small-charts'
  | 'sides'
  | 'side'
  | 'filters'
  | 'acts'
  | 'diagnosis'
  | 'topic'
  | 'topic-head'
  | 'topic-parts'
  | 'links'
  | 'grades';

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** A link keeps the page's time range, unless the link's query contains one. */
export interface Link {
  readonly kind: 'link';
  readonly text: Content;
  readonly path: string;
  readonly query: Query;
  readonly anchor: string | null;
  /** Accessible name, if `text` alone is unclear to users of screen readers. */
  readonly label?: string;
  /** Keyboard shortcut (`accesskey`). */
  readonly key?: string;
}

export interface Section {
  readonly kind: 'section';
  readonly id: string;
  readonly title: Content;
  /** Line below the title that explains how to read the section. */
  readonly lead?: Content;
  readonly aside?: Content;
  readonly tone?: Tone;
  readonly content: Content;
}

export interface Fact {
  readonly name: string;
  readonly value: Content;
  readonly detail?: Content;
}

/** The first cell of each row is the row's header. */
export interface Table {
  readonly kind: 'table';
  readonly caption: string;
  readonly columns: readonly {
    readonly title: string;
    readonly isNumber: boolean;
    /** True for columns that are hidden on narrow screens. */
    readonly isMinor: boolean;
  }[];
  readonly rows: readonly (readonly Content[])[];
  readonly size: TableSize;
}

/**
 * `dense` is for many columns: it places confidence intervals below their values. `compact` is for a few short columns:
 * it stays a table on a phone, where other tables become lists.
 */
type TableSize = 'plain' | 'dense' | 'compact';

export type Column<Row> = readonly [
  title: string,
  cell: (row: Row) => Content,
  how?: 'number' | 'minor' | 'minor number',
];

export type ListStyle =
  | 'plain'
  | 'links'
  | 'reasons'
  | 'evidence'
  | 'other-causes'
  | 'signs'
  | 'latest-runs'
  | 'notes'
  | 'topics'
  | 'tally'
  | 'judged';

export interface Pager {
  readonly kind: 'pager';
  /** Plural noun for the items, such as `queries`. */
  readonly what: string;
  /** Number of the page, starting at 1. */
  readonly page: number;
  readonly pageSize: number;
  readonly total: number;
  readonly link: (text: string, page: number) => Link;
}

/** An action that requires the `admin` scope; with method `get`, a filter that every visitor may use. */
export interface Form {
  readonly kind: 'form';
  /**
   * URL to which the form is posted; null for the URL of the page, which then shows the result in the section named
   * by `section`.
   */
  readonly action: string | null;
  readonly section?: string;
  readonly method?: 'get';
  /** Hidden fields; fields without a value are omitted. */
  readonly hidden?: Query;
  readonly content: Content;
  /** Summary that expands the form, with an accessible name if the summary is ambiguous. */
  readonly fold?: { readonly summary: string; readonly label?: string };
  /** Text shown in place of the form to users without the `admin` scope. */
  readonly forbidden?: Content;
}

export interface Button {
  readonly kind: 'button';
  readonly text: Content;
  readonly attributes?: Attributes;
}

type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface Input {
  readonly kind: 'input';
  readonly type: 'text' | 'checkbox' | 'select';
  readonly name: string;
  readonly label: Content;
  readonly value?: string;
  readonly options?: readonly { readonly value: string; readonly text: string }[];
  readonly attributes?: Attributes;
}

/** Content of a page, without the frame (header, navigation, footer) that all pages share. */
export interface PageContent {
  readonly title: string;
  /** Pipeline of the page; null for a page about all pipelines. */
  readonly pipeline: string | null;
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
  readonly aside?: Content;
  readonly hasRange?: boolean;
  readonly content: Content;
}
