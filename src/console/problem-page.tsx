/** What went wrong, and the way out. */
import { type Frame, Page } from './page.tsx';

interface Problem {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
}

export function ProblemPage({ frame, problem }: { readonly frame: Frame; readonly problem: Problem }) {
  return (
    <Page frame={frame} title={problem.title} section={null} hasRange={false}>
      <p class="alarm" role="note">
        {problem.detail}
      </p>
      <p>
        <a href="/">To the status of all pipelines</a>
      </p>
    </Page>
  );
}
