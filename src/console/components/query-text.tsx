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
