/** The thread that scores the second halves of runs. */
import { answerTasks } from '../../threads/tasks.ts';
import { tasks } from './score-runs.ts';

answerTasks(tasks);
