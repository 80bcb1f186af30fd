/** Steps through a long list, and the choice of a pipeline. */
import { count } from '../format.ts';
import { within } from '../links.ts';
import type { Frame } from '../page.tsx';

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
