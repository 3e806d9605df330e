import type { Gateway } from '../../../core/gateway.ts';
import { serverDetailsHere, serversHere } from '../live/servers.ts';
import { sessionsHere } from '../live/sessions.ts';
import type { Person } from '../person.ts';
import { answerHere } from './answer.ts';
import { cancelHere } from './cancel.ts';
import { questionHere } from './question.ts';
import { demoHere } from './demo.ts';
import { removeHere } from './remove.ts';
import { resultHere } from './result.ts';
import { connectHere, tryHere } from './try-tool.ts';
import type { ConsoleWork } from './work.ts';

/** Performs an action at this gateway; throws `OwnedElsewhere` if another one owns the session. */
export async function doHere(gateway: Gateway, person: Person, work: ConsoleWork): Promise<unknown> {
  switch (work.do) {
    case 'answer':
      return answerHere(gateway, person, work);
    case 'question':
      return questionHere(gateway, work);
    case 'cancel':
      return cancelHere(gateway, person, work);
    case 'result':
      return resultHere(gateway, work);
    case 'connect':
      return connectHere(gateway, person, work);
    case 'try':
      return tryHere(gateway, person, work);
    case 'demo':
      return demoHere(gateway, person, work);
    case 'remove':
      return removeHere(gateway, person, work);
    case 'servers':
      return serversHere(gateway, person);
    case 'server':
      return serverDetailsHere(gateway, person, work);
    case 'sessions':
      return sessionsHere(gateway, person);
    default:
      throw new Error('a gateway of another version sent an unknown request');
  }
}
