/** The thread that reads large bodies. */
import { answerTasks } from '../../threads/tasks.ts';
import { tasks } from './extraction.ts';

answerTasks(tasks);
