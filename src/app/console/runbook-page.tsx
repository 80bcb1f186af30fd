/** The runbooks of the alerts, as the package ships them: an alert leads to them with nothing else installed. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Marked } from 'marked';
import { type Frame, Page } from '../../console/page.tsx';
import { RecalldError } from '../../errors.ts';

/** From the compiled file as from the source. */
const folder = path.join(import.meta.dirname, '../../../docs/runbooks');

/** Pages link to each other; what else the documentation has is not served here. */
const markdown = new Marked({
  renderer: {
    link(href, _title, text) {
      const [, name] = /^(\w+)\.md$/.exec(href) ?? [];
      if (name !== undefined) return `<a href="/runbooks/${name}">${text}</a>`;
      return /^https?:\/\//.test(href) ? `<a href="${encodeURI(href)}">${text}</a>` : text;
    },
    html: (html) => html.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  },
});

/** @throws RecalldError runbook_unknown */
export async function readRunbook(name: string): Promise<{ readonly title: string; readonly html: string }> {
  const text = /^\w+$/.test(name) ? await readFile(path.join(folder, `${name}.md`), 'utf8').catch(() => null) : null;
  if (text === null) throw new RecalldError('runbook_unknown', `There is no runbook ${name}; see /runbooks/README.`);
  const [, title = name] = /^# (.*)$/m.exec(text) ?? [];
  return { title, html: await markdown.parse(text.replace(/^<!--[^]*?-->\s*/, '').replace(/^# .*$/m, '')) };
}

export function RunbookPage({ frame, title, html }: { frame: Frame; title: string; html: string }) {
  return (
    <Page frame={frame} title={title} section={null} hasRange={false}>
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: a file of the package, without HTML of its own */}
      <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />
    </Page>
  );
}
