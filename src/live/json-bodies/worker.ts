/** The thread that reads large JSON bodies. */
import { answerTasks } from '../../threads/tasks.ts';
import { tasks } from './reader.ts';

answerTasks(tasks);
