/** The thread that redacts. */
import { answerTasks } from '../../threads/tasks.ts';
import { tasks } from './redaction-thread.ts';

answerTasks(tasks);
