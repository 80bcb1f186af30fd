/** The thread that redacts. */
import { answerTasks } from '../../threads/tasks.ts';
import { tasks } from './tasks.ts';

answerTasks(tasks);
