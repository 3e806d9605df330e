/** One connection of the gateway's south side, with a sink that writes down what it hears. The test owns it. */
import type {
  CallOutcome,
  ConnectionSink,
  IncomingQuestion,
  OutgoingCall,
} from '../../../src/core/ports/connection.ts';
import type { ServerConfig } from '../../../src/core/ports/server-config.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { ServerConnection, type ConnectionSettings } from '../../../src/south/connection.ts';
import { Dialler, GATEWAY_IDENTITY } from '../../../src/south/dial.ts';
import { PingSchedule } from '../../../src/south/heartbeat.ts';
import { owned } from '../../support/owned.ts';

export interface Connected {
  connection: ServerConnection;
  /** In the order of their arrival. */
  questions: IncomingQuestion[];
  call: (id: string, more?: Partial<OutgoingCall>) => Promise<CallOutcome>;
}

const SETTINGS: ConnectionSettings = {
  pings: new PingSchedule(30_000, systemClock),
  pollTimeoutMs: 5000,
  persistent: true,
  reconnect: { firstMs: 20, factor: 1, maxMs: 20, attempts: 3, stableMs: 1000 },
  clock: systemClock,
};

export interface ConnectedOptions extends Partial<ConnectionSettings> {
  /** Without one, questions stay open. */
  answer?: ConnectionSink['question'];
}

export function connectTo(config: ServerConfig, { answer, ...settings }: ConnectedOptions = {}): Connected {
  const questions: IncomingQuestion[] = [];
  const sink: ConnectionSink = {
    connected: () => {},
    lost: () => {},
    notification: () => {},
    log: () => {},
    question: async (question) => {
      questions.push(question);
      return answer?.(question) ?? untilWithdrawn(question);
    },
  };
  const connection = owned(
    new ServerConnection(
      'one',
      config,
      sink,
      new Dialler(10_000, GATEWAY_IDENTITY),
      { ...SETTINGS, ...settings },
      createLog('silent'),
    ),
  );
  const call: Connected['call'] = async (id, more = {}) =>
    connection.call({
      id,
      tool: 'work',
      args: {},
      tasks: 'use',
      signal: new AbortController().signal,
      listener: { onProgress: () => {}, onTask: () => {}, onCheckpoint: async () => {} },
      ...more,
    });
  return { connection, questions, call };
}

async function untilWithdrawn({ withdrawn }: IncomingQuestion): Promise<never> {
  return new Promise((_resolve, reject) => {
    withdrawn.addEventListener('abort', () => reject(new Error('withdrawn')), { once: true });
  });
}
