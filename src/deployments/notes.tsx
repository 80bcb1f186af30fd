/** What people noted about a run or a deployment, and the form to note more. */
import { Instant } from '../console/components/values.tsx';
import type { Annotation, AnnotationSubject } from './annotations.ts';

export const MAX_NOTE = 1000;

export function Notes({ notes }: { readonly notes: readonly Annotation[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="notes">
      {notes.map(({ id, text, author, createdAt }) => (
        <li key={id}>
          {text}{' '}
          <span class="of">
            {author ?? 'without a key'}, <Instant at={createdAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}

interface NoteFormProps {
  readonly subject: AnnotationSubject;
  readonly id: string;
  /** What is noted about, for the name of the field. */
  readonly name: string;
  readonly formToken: string;
  readonly back: string;
}

export function NoteForm({ subject, id, name, formToken, back }: NoteFormProps) {
  return (
    <details class="act">
      <summary aria-label={`Add a note on ${name}`}>Add a note</summary>
      <form method="post" action="/actions/annotate">
        <input type="hidden" name="form_token" value={formToken} />
        <input type="hidden" name="back" value={back} />
        <input type="hidden" name="subject" value={subject} />
        <input type="hidden" name="id" value={id} />
        <label>
          Note on {name}
          <input type="text" name="text" maxLength={MAX_NOTE} required autocomplete="off" />
        </label>
        <button type="submit">Save note</button>
      </form>
    </details>
  );
}
