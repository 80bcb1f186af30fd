/**
 * Tables with a caption and scoped headers. On a narrow screen each row becomes a list of what its columns say; a table
 * that is still too wide scrolls within its own frame, by keyboard too.
 */
import type { ComponentChildren } from 'preact';

export interface Column {
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
