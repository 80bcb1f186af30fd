/** Asks for the API key that the pages are read with. */
import { type Frame, Page } from '../console/page.tsx';

interface SignInPageProps {
  readonly frame: Frame;
  /** Where to go then. */
  readonly next: string;
  /** Why the last attempt failed. */
  readonly problem: string | null;
}

export function SignInPage({ frame, next, problem }: SignInPageProps) {
  return (
    <Page frame={frame} title="Sign in" section={null} hasRange={false}>
      <form method="post" action="/sign-in" class="panel sign-in">
        <input type="hidden" name="next" value={next} />
        {problem === null ? null : (
          <p class="alarm" role="alert" id="problem">
            {problem}
          </p>
        )}
        <label for="key">API key</label>
        <input
          id="key"
          type="password"
          name="key"
          autocomplete="current-password"
          required
          autofocus
          aria-describedby={problem === null ? 'hint' : 'problem hint'}
        />
        <p id="hint" class="lead">
          Scope <code>read</code> shows, scope <code>admin</code> may also act.{' '}
          <code>recalld keys create</code> makes keys.
        </p>
        <button type="submit">Sign in</button>
      </form>
    </Page>
  );
}
