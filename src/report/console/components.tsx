/**
 * What pages are made of: titled sections, steps through lists, tables with scoped headers that become lists on a narrow
 * screen, and what stands in lines and cells.
 */
import type { ComponentChildren } from 'preact';
import { count, duration, minute, score, second } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import { within } from './links.ts';
import type { Frame } from './page.tsx';

/** Verdicts and states: a word, a shape and a colour, so that none of them speaks alone. */
export type Tone = 'ok' | 'warning' | 'critical' | 'no_data' | 'neutral' | 'good';

const words: Record<Verdict, string> = {
  ok: 'OK',
  warning: 'Warning',
  critical: 'Critical',
  no_data: 'No data',
};

interface VerdictBadgeProps {
  readonly verdict: Verdict;
  /** Whether a check passes because it could not see a failure. */
  readonly isBlind?: boolean;
}

export function VerdictBadge({ verdict, isBlind = false }: VerdictBadgeProps) {
  return isBlind ? <Badge tone="no_data">Blind</Badge> : <Badge tone={verdict}>{words[verdict]}</Badge>;
}

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span class={`badge ${tone}`}>
      <Mark tone={tone} />
      {children}
    </span>
  );
}

/** Disc, triangle, diamond, ring: told apart without colour. */
function Mark({ tone }: { readonly tone: Tone }) {
  return (
    <svg class="mark" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
      <path d={marks[tone]} />
    </svg>
  );
}

const disc = 'M5 1a4 4 0 1 1 0 8a4 4 0 0 1 0-8z';

const marks: Record<Tone, string> = {
  ok: disc,
  good: disc,
  warning: 'M5 1L9.5 9H.5z',
  critical: 'M5 0L10 5L5 10L0 5z',
  no_data: 'M5 1a4 4 0 1 1 0 8a4 4 0 0 1 0-8zm0 2a2 2 0 1 0 0 4a2 2 0 0 0 0-4z',
  neutral: 'M1 4h8v2H1z',
};

interface BoundedProps {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly show?: (value: number) => string;
}

export function Bounded({ value, low, high, show = score }: BoundedProps) {
  return (
    <span class="bounded">
      <strong>{show(value)}</strong>
      {low === null || high === null ? null : <Bounds low={low} high={high} show={show} />}
    </span>
  );
}

export function Bounds({ low, high, show = score }: Omit<BoundedProps, 'value' | 'low' | 'high'> & Range) {
  return (
    <span class="bounds">
      {show(low)} to {show(high)}
    </span>
  );
}

interface Range {
  readonly low: number;
  readonly high: number;
}

/** Stands where a value would. */
export function Missing({ children }: { readonly children: ComponentChildren }) {
  return <span class="missing">{children}</span>;
}

/** Times: when it was, and how long ago that is. */
export function Instant({ at, exact = false }: { readonly at: Date; readonly exact?: boolean }) {
  return (
    <time class="instant" datetime={at.toISOString()}>
      {exact ? second(at) : minute(at)}
    </time>
  );
}

/** Says `too old` in words beside the age, never by colour alone. */
export function Age({ seconds, isTooOld = false }: { readonly seconds: number; readonly isTooOld?: boolean }) {
  return (
    <span class={isTooOld ? 'age old' : 'age'}>
      {duration(seconds)}
      {' ago'}
      {isTooOld ? <span class="old-mark">, too old</span> : null}
    </span>
  );
}

/** Since when something is as it is, and for how long. */
export function Lasting({ from, seconds }: { readonly from: Date; readonly seconds: number }) {
  return (
    <>
      <Instant at={from} /> <span class="of lasting">{duration(seconds)}</span>
    </>
  );
}

export function agoOf(at: Date, now: Date): number {
  return (now.getTime() - at.getTime()) / 1000;
}

/** What is told to people; what stands between backticks is to be typed as it is. */
export function Sentence({ children }: { readonly children: string }) {
  return (
    <>{children.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
  );
}

/** What a query asked, or its id where no text may be shown or none was kept. */
export function QueryText({ id, text }: { readonly id: string; readonly text: string | null }) {
  return text === null ? (
    <code class="query-id">{id}</code>
  ) : (
    <>
      <span class="query-text">{text}</span> <code class="query-id">{id}</code>
    </>
  );
}

interface SectionProps {
  readonly id: string;
  readonly title: string;
  /** One line below the title: what this is and how to read it. */
  readonly lead?: ComponentChildren;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ id, title, lead, aside, children }: SectionProps) {
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {aside === undefined ? null : <div class="panel-aside">{aside}</div>}
      </div>
      {lead === undefined ? null : <p class="lead">{lead}</p>}
      {children}
    </section>
  );
}

/** Why there is nothing to see, and what to do about it. */
export function Empty({ why, todo }: { readonly why: string; readonly todo?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-why">
        <Sentence>{why}</Sentence>
      </p>
      {todo === undefined ? null : <p>{typeof todo === 'string' ? <Sentence>{todo}</Sentence> : todo}</p>}
    </div>
  );
}

export interface Fact {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly detail?: ComponentChildren;
}

export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ name, value, detail }) => (
        <div key={name} class="fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
          {detail === undefined ? null : (
            <dd class="fact-detail">{typeof detail === 'string' ? <Sentence>{detail}</Sentence> : detail}</dd>
          )}
        </div>
      ))}
    </dl>
  );
}

interface PipelineChoiceProps {
  readonly frame: Frame;
  readonly path: string;
  readonly pipelines: readonly string[];
  readonly chosen: string | null;
}

/** Nothing to choose among fewer than two. */
export function PipelineChoice({ frame, path, pipelines, chosen }: PipelineChoiceProps) {
  if (pipelines.length < 2) return null;
  const item = (text: string, pipeline: string | null) => (
    <li key={text}>
      <a href={within(frame.range, path, { pipeline })} aria-current={pipeline === chosen ? 'true' : undefined}>
        {text}
      </a>
    </li>
  );
  return (
    <nav class="choices" aria-label="Pipelines">
      <ul>
        {item('All', null)}
        {pipelines.map((name) => item(name, name))}
      </ul>
    </nav>
  );
}

/** Steps through a long list. */
interface PagerProps {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  readonly total: number;
  readonly link: (page: number) => string;
  readonly what: string;
}

export function Pager({ page, pageSize, total, link, what }: PagerProps) {
  const first = (page - 1) * pageSize + 1;
  const last = Math.min(total, page * pageSize);
  return (
    <nav class="pager" aria-label={`Pages of ${what}`}>
      {page > 1 ? <a href={link(page - 1)}>Previous</a> : null}
      <span>
        {count(first)} to {count(last)} of {count(total)}
      </span>
      {last < total ? <a href={link(page + 1)}>Next</a> : null}
    </nav>
  );
}

interface Column {
  readonly title: string;
  /** Numbers stand to the right, one below the other. */
  readonly isNumber?: boolean;
  /** Left out on a narrow screen, where what remains says enough. */
  readonly isMinor?: boolean;
  /** How the rows are sorted by it. */
  readonly sort?: 'ascending' | 'descending';
}

interface TableProps {
  /** Says what the table holds; for screen readers where a title above says it already. */
  readonly caption: string;
  readonly columns: readonly Column[];
  /** Puts bounds below their values, for tables of many columns. */
  readonly isDense?: boolean;
  /** Of few and short columns: it stays a table on a narrow screen. */
  readonly isCompact?: boolean;
  /** The first cell of a row is its header. */
  readonly rows: readonly TableRow[];
}

export interface TableRow {
  readonly key: string;
  readonly cells: readonly ComponentChildren[];
}

export function Table({ caption, columns, rows, isDense = false, isCompact = false }: TableProps) {
  const kinds = [...(isDense ? ['dense'] : []), ...(isCompact ? ['compact'] : [])];
  return (
    // A region that scrolls must be reached by keyboard.
    <div class="table-frame" role="region" aria-label={caption} tabIndex={0}>
      <table class={kinds.length === 0 ? undefined : kinds.join(' ')}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th
                key={index}
                scope="col"
                class={classOf(column)}
                {...(column.sort === undefined ? {} : { 'aria-sort': column.sort })}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, index) => {
                const kind = classOf(columns[index]);
                return index === 0 ? (
                  <th key={index} scope="row" class={kind}>
                    {cell}
                  </th>
                ) : (
                  <td key={index} class={kind} data-title={columns[index]?.title}>
                    {cell}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf(column: Column | undefined): string | undefined {
  const classes = [column?.isNumber === true ? 'number' : '', column?.isMinor === true ? 'minor' : ''];
  const text = classes.filter((one) => one !== '').join(' ');
  return text === '' ? undefined : text;
}

interface AskFormProps {
  readonly frame: Frame;
  /** Id of the section of this page that shows the answer. */
  readonly section: string;
  /** Of the button. */
  readonly label: string;
  /** What is done, after the button. */
  readonly children: ComponentChildren;
}

/** Asks the services of the pipeline and shows this page with the answer; for those who may act. */
export function AskForm({ frame: { path, query, range, visitor }, section, label, children }: AskFormProps) {
  if (visitor?.canAct !== true)
    return (
      <p>
        {label}: {children} It needs an API key of scope admin.
      </p>
    );
  return (
    <form method="post" action={`${within(range, path, query)}#${section}`}>
      <input type="hidden" name="form_token" value={visitor.formToken} />
      <p>
        <button type="submit">{label}</button> {children}
      </p>
    </form>
  );
}
