/** Renders content as HTML. Tables have scoped headers and become lists on narrow screens. */
import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { count, duration, formatValue, minute, range, second } from '../../core/format.ts';
import type {
  Content,
  ContentNode,
  GroupStyle,
  Link,
  ListStyle,
  PageContent,
  Pager,
  ParagraphStyle,
  Section,
  Style,
  Table,
  Tone,
  Value,
} from '../model/content.ts';
import { DistributionFigure } from './charts/distribution-chart.tsx';
import { PartsFigure } from './charts/parts-chart.tsx';
import { Sparkline } from './charts/sparkline.tsx';
import { StripsFigure } from './charts/strips-chart.tsx';
import { TrendFigure } from './charts/trend-chart.tsx';
import { formFigure, InputFigure } from './forms.tsx';
import { hrefOf } from './links.ts';
import { type Frame, Page } from './page.tsx';

export interface Scene {
  readonly from: Date;
  readonly until: Date;
  readonly now: Date;
  /** The frame of the page; null for a stand-alone document, which has no links and no forms. */
  readonly frame: Frame | null;
}

export function renderPage(frame: Frame, { content, aside, ...around }: PageContent): string {
  const scene = { from: frame.range.from, until: frame.range.until, now: frame.now, frame };
  return renderDocument(
    <Page frame={frame} {...around} aside={shown(aside, scene)}>
      {shown(content, scene)}
    </Page>,
  );
}

export function renderDocument(document: VNode): string {
  return `<!doctype html>\n${renderToString(document)}\n`;
}

/** Rendered content; null if there is nothing to show. */
export function shown(content: Content, scene: Scene): ComponentChildren {
  if (content === null || content === undefined || content === false || content === '') return null;
  if (typeof content === 'string') return sentence(content);
  if (typeof content === 'number') return count(content);
  if ('kind' in content) return element(content, scene);
  const parts = content.map((part) => shown(part, scene)).filter((part) => part !== null);
  return parts.length === 0 ? null : parts;
}

/** Renders text between backticks as code. */
function sentence(text: string): ComponentChildren {
  if (!text.includes('`')) return text;
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}

function element(content: ContentNode, scene: Scene): ComponentChildren {
  switch (content.kind) {
    case 'value':
      return valueOf(content);
    case 'time':
      return (
        <time class="instant" datetime={content.at.toISOString()}>
          {content.isExact ? second(content.at) : minute(content.at)}
        </time>
      );
    case 'age':
      return (
        <span class={content.isTooOld ? 'age old' : 'age'}>
          {duration((scene.now.getTime() - content.since.getTime()) / 1000)} ago
          {content.isTooOld ? <span class="old-mark">, too old</span> : null}
        </span>
      );
    case 'badge':
      return (
        <span class={`badge ${content.tone}`}>
          <svg class="mark" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
            <path d={marks[content.tone]} />
          </svg>
          {content.text}
        </span>
      );
    case 'link':
      return linkOf(content, scene);
    case 'styled': {
      const inner = shown(content.content, scene);
      return content.style === 'strong' ? (
        <strong>{inner}</strong>
      ) : (
        <span class={classes[content.style] ?? content.style}>{inner}</span>
      );
    }
    case 'code':
      return <code>{content.text}</code>;
    case 'verbatim':
      return content.text;
    case 'lines':
      return <pre>{content.text}</pre>;
    case 'prose':
      // biome-ignore lint/security/noDangerouslySetInnerHtml: from a file in this package, with its HTML escaped
      return <div class="prose" dangerouslySetInnerHTML={{ __html: content.html }} />;
    case 'progress':
      return <progress value={content.value} max={content.of} aria-label={content.label} />;
    case 'sparkline':
      return <Sparkline {...content} />;
    case 'paragraph':
      return (
        <p
          class={content.style === 'plain' ? undefined : (paragraphs[content.style] ?? content.style)}
          {...paragraphAttributes[content.style]}
        >
          {shown(content.content, scene)}
        </p>
      );
    case 'heading':
      return content.level === 3 ? <h3>{shown(content.content, scene)}</h3> : <h4>{shown(content.content, scene)}</h4>;
    case 'section':
      return sectionOf(content, scene);
    case 'facts':
      return (
        <dl class="facts">
          {content.facts.map(({ name, value, detail }) => {
            const more = shown(detail, scene);
            return (
              <div key={name} class="fact">
                <dt>{name}</dt>
                <dd>{shown(value, scene)}</dd>
                {more === null ? null : <dd class="fact-detail">{more}</dd>}
              </div>
            );
          })}
        </dl>
      );
    case 'table':
      return tableOf(content, scene);
    case 'list': {
      const items = content.items.map((item, index) => (
        <li key={index} class={item.tone ?? undefined}>
          {item.tone === 'for' || item.tone === 'against' ? (
            <span class="unseen">{item.tone === 'for' ? 'For it: ' : 'Against it: '}</span>
          ) : null}
          {shown(item.content, scene)}
        </li>
      ));
      const style = content.style === 'plain' ? undefined : content.style;
      return ordered.has(content.style) ? <ol class={style}>{items}</ol> : <ul class={style}>{items}</ul>;
    }
    case 'empty': {
      const todo = shown(content.todo, scene);
      return (
        <div class="empty">
          <p class="empty-why">{sentence(content.why)}</p>
          {todo === null ? null : <p>{todo}</p>}
        </div>
      );
    }
    case 'more':
      return (
        <details class="more">
          <summary>{content.summary}</summary>
          {shown(content.content, scene)}
        </details>
      );
    case 'group':
      return groupOf(content, scene);
    case 'choices':
      return scene.frame === null ? null : (
        <nav class="choices" aria-label={content.label}>
          <ul>
            {content.choices.map(({ link, isChosen }, index) => (
              <li key={index}>
                <a href={hrefOf(link, scene.frame?.range)} aria-current={isChosen ? 'true' : undefined}>
                  {shown(link.text, scene)}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      );
    case 'pager':
      return pagerOf(content, scene);
    case 'form':
      return (
        scene.frame && formFigure(content, scene.frame, shown(content.content, scene), shown(content.forbidden, scene))
      );
    case 'input':
      return <InputFigure input={content} label={shown(content.label, scene)} />;
    case 'button':
      return (
        <button type="submit" {...content.attributes}>
          {shown(content.text, scene)}
        </button>
      );
    case 'trend':
      return <TrendFigure chart={content} from={scene.from} until={scene.until} />;
    case 'distribution':
      return <DistributionFigure chart={content} />;
    case 'parts':
      return <PartsFigure chart={content} />;
    case 'strips':
      return <StripsFigure chart={content} />;
  }
}

const disc = 'M5 1a4 4 0 1 1 0 8a4 4 0 0 1 0-8z';

/** Disc, triangle, diamond and ring can be distinguished without color. */
const marks: Record<Tone, string> = {
  ok: disc,
  good: disc,
  warning: 'M5 1L9.5 9H.5z',
  critical: 'M5 0L10 5L5 10L0 5z',
  no_data: 'M5 1a4 4 0 1 1 0 8a4 4 0 0 1 0-8zm0 2a2 2 0 1 0 0 4a2 2 0 0 0 0-4z',
  neutral: 'M1 4h8v2H1z',
};

/** CSS classes of those styles whose class name differs from the style's name. */
const classes: Readonly<Partial<Record<Style, string>>> = {
  quiet: 'of',
  note: 'severity',
  query: 'query-text',
  rose: 'difference rose',
  fell: 'difference fell',
  relevant: 'grade relevant',
  unjudged: 'grade unjudged',
};

const paragraphs: Readonly<Partial<Record<ParagraphStyle, string>>> = { quiet: 'of', document: 'document-text' };

/**
 * Attributes of the element that contains a document's text. The element scrolls, so it must be reachable by keyboard.
 */
const paragraphAttributes: Readonly<
  Partial<Record<ParagraphStyle, { readonly role?: 'note'; readonly tabIndex?: 0 }>>
> = { callout: { role: 'note' }, document: { tabIndex: 0 } };

const ordered: ReadonlySet<ListStyle> = new Set(['other-causes', 'judged']);

function valueOf({ value, unit, low, high }: Value): ComponentChildren {
  const text = formatValue(value, unit);
  if (low === null || high === null) return text;
  return (
    <span class="bounded">
      <strong>{text}</strong>
      <span class="bounds">{range(low, high, unit)}</span>
    </span>
  );
}

function linkOf(link: Link, scene: Scene): ComponentChildren {
  const text = shown(link.text, scene);
  if (scene.frame === null) return text;
  return (
    <a href={hrefOf(link, scene.frame.range)} aria-label={link.label} accessKey={link.key}>
      {text}
    </a>
  );
}

function sectionOf({ id, title, lead, aside, tone, content }: Section, scene: Scene): VNode {
  const [below, beside] = [shown(lead, scene), shown(aside, scene)];
  return (
    <section class={tone === undefined ? 'panel' : `panel state ${tone}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{shown(title, scene)}</h2>
        {beside === null ? null : <div class="panel-aside">{beside}</div>}
      </div>
      {below === null ? null : <p class="lead">{below}</p>}
      {shown(content, scene)}
    </section>
  );
}

function tableOf({ caption, columns, rows, size }: Table, scene: Scene): VNode {
  const classOf = (index: number) => {
    const { isNumber = false, isMinor = false } = columns[index] ?? {};
    return [isNumber ? 'number' : '', isMinor ? 'minor' : ''].filter(Boolean).join(' ') || undefined;
  };
  return (
    // The table scrolls sideways, so it must be reachable by keyboard.
    <div class="table-frame" role="region" aria-label={caption} tabIndex={0}>
      <table class={size === 'plain' ? undefined : size}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title }, index) => (
              <th key={index} scope="col" class={classOf(index)}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, index) =>
                index === 0 ? (
                  <th key={index} scope="row" class={classOf(index)}>
                    {shown(cell, scene)}
                  </th>
                ) : (
                  <td key={index} class={classOf(index)} data-title={columns[index]?.title}>
                    {shown(cell, scene)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** ARIA roles of groups that have a label. */
const roles: Readonly<Partial<Record<GroupStyle, 'group' | 'article'>>> = {
  diagnosis: 'group',
  topic: 'article',
  grades: 'group',
};

function groupOf({ style, label, content }: Extract<ContentNode, { kind: 'group' }>, scene: Scene): VNode {
  return (
    <div class={style} role={roles[style]} aria-label={label ?? undefined}>
      {shown(content, scene)}
    </div>
  );
}

function pagerOf({ what, page, pageSize, total, link }: Pager, scene: Scene): VNode {
  const last = Math.min(total, page * pageSize);
  return (
    <nav class="pager" aria-label={`Pages of ${what}`}>
      {page > 1 ? linkOf(link('Previous', page - 1), scene) : null}
      <span>
        {count((page - 1) * pageSize + 1)} to {count(last)} of {count(total)}
      </span>
      {last < total ? linkOf(link('Next', page + 1), scene) : null}
    </nav>
  );
}
