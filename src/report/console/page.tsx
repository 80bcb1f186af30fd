/** The frame of every page: head, skip link, navigation, time range picker, and signed-in user. */
import type { ComponentChildren } from 'preact';
import { minute } from '../../core/format.ts';
import type { PageContent } from '../model/content.ts';
import { address, minuteOf, pipelinePath, rangePresets, type TimeRange, within } from './links.ts';

export interface Visitor {
  /** API key of the user; null if no key is required, or if an identity provider or a proxy signed the user in. */
  readonly key: {
    readonly id: string;
    readonly name: string;
    /** The only pipelines that the user may see and change; null means all. */
    readonly pipelines: readonly string[] | null;
  } | null;
  /** User whom an identity provider or a proxy signed in; null for other visitors. */
  readonly user: { readonly id: string; readonly name: string } | null;
  /** False if a proxy, instead of recalld, signs users in and out. */
  readonly canSignOut: boolean;
  /** True if the user has the `admin` scope. */
  readonly canAct: boolean;
  readonly formToken: string;
}

export interface Frame {
  /** Path of the page, without its query. */
  readonly path: string;
  /** Query parameters to keep when the time range changes. */
  readonly query: Readonly<Record<string, string>>;
  readonly range: TimeRange;
  readonly now: Date;
  /** The visitor; null on the sign-in page. */
  readonly visitor: Visitor | null;
  readonly version: string;
  /** Result of an action, shown once. */
  readonly notice: string | null;
}

interface PageProps extends Pick<PageContent, 'title' | 'pipeline' | 'section' | 'hasRange'> {
  readonly frame: Frame;
  readonly aside: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Page(props: PageProps) {
  const { frame, title, pipeline, aside, hasRange = true, children } = props;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{pipeline === null ? `${title} · recalld` : `${title} · ${pipeline} · recalld`}</title>
        <link rel="stylesheet" href={`/style.css?v=${frame.version}`} />
        <script type="module" src={`/pages.js?v=${frame.version}`} />
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to content
        </a>
        <Header {...props} />
        <main id="content" tabIndex={-1}>
          <div class="title-row">
            <div class="title-words">
              {pipeline === null ? null : <p class="over-title">{pipeline}</p>}
              <h1>{title}</h1>
            </div>
            {aside === null ? null : <div class="title-aside">{aside}</div>}
            {hasRange ? <RangePicker {...frame} /> : null}
          </div>
          {frame.notice === null ? null : (
            <p class="notice" role="status">
              {frame.notice}
            </p>
          )}
          {children}
        </main>
        <footer class="foot">
          <p>
            recalld {frame.version} · as of <time datetime={frame.now.toISOString()}>{minute(frame.now)}</time> · all
            times in UTC · <a href="/openapi.json">API</a>
          </p>
        </footer>
      </body>
    </html>
  );
}

function Header({ frame, pipeline, section }: PageProps) {
  const { range, visitor } = frame;
  const name = visitor?.user?.name ?? visitor?.key?.name;
  const item = (one: typeof section, text: string, path: string, isCurrent = section === one) => (
    <li>
      <a href={path} aria-current={isCurrent ? 'page' : undefined}>
        {text}
      </a>
    </li>
  );
  const main = (one: typeof section, text: string, path: string) =>
    item(one, text, within(range, path), section === one && pipeline === null);
  return (
    <header class="top">
      <div class="bar">
        <a class="brand" href={within(range, '/')}>
          <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
            <path class="brand-ring" d="M10 2a8 8 0 1 1-7.4 5" />
            <path class="brand-pulse" d="M2 11h4l2-4 3 7 2-3h5" />
          </svg>
          recalld
        </a>
        {visitor === null ? null : (
          <nav aria-label="Main">
            <ul class="nav">
              {main('status', 'Status', '/')}
              {main('checks', 'Checks', '/checks')}
              {main('deployments', 'Deployments', '/deployments')}
            </ul>
          </nav>
        )}
        {visitor === null || name === undefined ? null : (
          <form class="who" method="post" action="/sign-out">
            <input type="hidden" name="form_token" value={visitor.formToken} />
            <span class="who-name">{name}</span>
            {visitor.canSignOut ? (
              <button type="submit" class="quiet">
                Sign out
              </button>
            ) : null}
          </form>
        )}
      </div>
      {pipeline === null ? null : (
        <nav aria-label={`Pipeline ${pipeline}`} class="tabs">
          <ul>
            {item('overview', 'Overview', within(range, pipelinePath(pipeline)))}
            {item('golden', 'Golden runs', within(range, pipelinePath(pipeline, 'golden')))}
            {item('density', 'Density', within(range, pipelinePath(pipeline, 'density')))}
            {item('traffic', 'Traffic & feedback', within(range, pipelinePath(pipeline, 'traffic')))}
            {item('index', 'Index', within(range, pipelinePath(pipeline, 'index')))}
            {item('judge', 'Judge', pipelinePath(pipeline, 'judge'))}
            {item('experiments', 'Experiments', pipelinePath(pipeline, 'experiments'))}
            {item('checks', 'Checks', within(range, '/checks', { pipeline }))}
            {item('deployments', 'Deployments', within(range, '/deployments', { pipeline }))}
          </ul>
        </nav>
      )}
    </header>
  );
}

function RangePicker({ path, query, range }: Frame) {
  return (
    <nav class="range" aria-label="Time range">
      <ul>
        {rangePresets.map(({ preset, name }) => (
          <li key={preset}>
            <a
              href={address(path, { ...query, range: preset })}
              aria-current={range.preset === preset ? 'true' : undefined}
              aria-label={name}
            >
              {preset}
            </a>
          </li>
        ))}
        <li>
          <details class="range-own">
            <summary>{range.preset === null ? `${minute(range.from)} to ${minute(range.until)}` : 'Custom'}</summary>
            <form method="get" action={path}>
              {Object.entries(query).map(([name, value]) => (
                <input key={name} type="hidden" name={name} value={value} />
              ))}
              <label>
                From (UTC)
                <input type="datetime-local" name="from" value={minuteOf(range.from)} required />
              </label>
              <label>
                Until (UTC)
                <input type="datetime-local" name="until" value={minuteOf(range.until)} />
              </label>
              <button type="submit">Show</button>
            </form>
          </details>
        </li>
      </ul>
    </nav>
  );
}
