/** Forms on pages: actions, which require the `admin` scope, and list filters. */
import type { ComponentChildren } from 'preact';
import type { Form, Input } from '../model/content.ts';
import { hrefOf } from './links.ts';
import type { Frame } from './page.tsx';

/** @param forbidden replaces the form for visitors without the `admin` scope */
export function formFigure(form: Form, frame: Frame, children: ComponentChildren, forbidden: ComponentChildren) {
  const { action, section = null, method = 'post', hidden = {}, fold } = form;
  const { path, query, range, visitor } = frame;
  if (method === 'post' && visitor?.canAct !== true) return <>{forbidden}</>;
  const own = method === 'get' ? range.query : { form_token: visitor?.formToken };
  const markup = (
    <form
      method={method}
      action={action ?? hrefOf({ path, query, anchor: section }, range)}
      class={method === 'get' ? 'by' : undefined}
    >
      {Object.entries({ ...own, ...hidden }).map(([name, value]) =>
        value === null || value === undefined ? null : <input key={name} type="hidden" name={name} value={value} />,
      )}
      {children}
    </form>
  );
  if (fold === undefined) return markup;
  return (
    <details class="act">
      <summary aria-label={fold.label}>{fold.summary}</summary>
      {markup}
    </details>
  );
}

export function InputFigure({ input, label }: { readonly input: Input; readonly label: ComponentChildren }) {
  const { type, name, value, options = [], attributes } = input;
  if (type === 'checkbox')
    return (
      <label>
        <input type="checkbox" name={name} value={value} {...attributes} /> {label}
      </label>
    );
  return (
    <label>
      {label}
      {type === 'select' ? (
        <select name={name}>
          {options.map((option) => (
            <option key={option.value} value={option.value} selected={option.value === value}>
              {option.text}
            </option>
          ))}
        </select>
      ) : (
        <input type="text" name={name} value={value} autocomplete="off" {...attributes} />
      )}
    </label>
  );
}
