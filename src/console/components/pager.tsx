/** Steps through a long list. */
import { count } from '../format.ts';

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
