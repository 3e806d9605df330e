import type { Clock } from '../../lib/clock.ts';
import { InFlight } from '../../lib/in-flight.ts';
import type { Log } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import type { Access } from '../access/access.ts';
import type { SessionAccess } from '../access/session-access.ts';
import type { AuditRecorder } from '../audit/recorder.ts';
import { Budget } from '../budget.ts';
import { Calls } from '../call/calls.ts';
import type { LiveCall } from '../call/live-call.ts';
import { EventLog, type EventSink } from '../event/log.ts';
import type { SessionQuotas } from '../gateway-limits.ts';
import type { Recorder } from '../history/recorder.ts';
import { SessionRecorder } from '../history/session-recorder.ts';
import type { OpenInteraction } from '../interaction/interaction.ts';
import { InteractionRouter } from '../interaction/router.ts';
import type { StandingAnswers } from '../interaction/standing-answers.ts';
import { ModelResponder } from '../models/model-responder.ts';
import type { Notifier } from '../notify/notifier.ts';
import { SessionNotifier } from '../notify/session-notifier.ts';
import type { Observed } from '../observer.ts';
import type { PolicyGate, Policy } from '../policy/policy-gate.ts';
import type { RememberedTools } from '../policy/remembered.ts';
import type { Accounts } from '../ports/accounts.ts';
import type { Backends } from '../ports/connection.ts';
import type { TokenFacts } from '../ports/identity.ts';
import type { Models } from '../ports/models.ts';
import type { StoredPreferences } from '../ports/records.ts';
import type { ClaimedSession, Store } from '../ports/store.ts';
import type { PrincipalQuotas } from '../quota/quotas.ts';
import type { CoreSettings } from '../settings.ts';
import { SignInGate } from '../sign-in/sign-in-gate.ts';
import type { SignInWatch } from '../sign-in/watch.ts';
import { HUB_ADVICE, PROTOCOL_ADVICE } from '../task/advice.ts';
import { TaskBook } from '../task/book.ts';
import type { Catalog } from './catalog.ts';
import type { Owner, View } from './kind.ts';
import { bothListeners, type RecordedSession, type SessionListener } from './session-listener.ts';
import type { ServerRegistry, VisibleServers } from './registry.ts';
import type { ServerConnections } from './server-connections.ts';

export interface SessionParts {
  id: string;
  principal: string;
  /** Its start time, if it is restored. */
  createdAt?: number;
  /** The key that signs the state its client carries, if it is restored. */
  key?: string | undefined;
  view: View;
  owner: Owner;
  /** The stored preferences of the client. */
  preferences?: Record<string, StoredPreferences> | undefined;
  /** Notifies hub sessions of tasks and questions that the client has left or cannot handle. */
  notifyHub?: EventSink['add'];
  /** Called when the session gets its first question, and when it has none left. */
  onQuestions?: (any: boolean) => void;
  /** Its part in the limits of the whole gateway. */
  quotas: SessionQuotas;
  /** The quotas of its principal; absent without quotas. */
  own?: PrincipalQuotas | undefined;
  /** The memory budget of its principal. */
  memory: Budget;
  /** How many events the sessions of its principal may keep. */
  eventTotal: Budget;
  store: ClaimedSession;
  backends: Backends;
  /** The config's rules for routine questions. */
  standing?: StandingAnswers | undefined;
  /** Absent if the config has none. */
  models?: Models | undefined;
  counters: Pick<Store, 'addToCounter'>;
  /** All servers, including those its principal cannot use. */
  registry: Pick<ServerRegistry, 'of' | 'isShared'>;
  /** Absent without access rules. */
  access?: Access | undefined;
  /** The facts of the most recently used token. */
  facts?: TokenFacts | undefined;
  settings: CoreSettings;
  log: Log;
  observed?: Observed;
  /** Absent if the history is off. */
  recorder?: Recorder | undefined;
  /** Absent without notification targets. */
  notifier?: Notifier | undefined;
  /** Absent without rules. */
  policy?: Policy | undefined;
  /** The tools that a person allowed for the rest of the session before a restart. */
  remembered?: RememberedTools | undefined;
  /** Absent if the audit record is off. */
  audit?: AuditRecorder | undefined;
  /** Absent if servers are used without accounts. */
  accounts?: Accounts | undefined;
  /** Reports sign-ins; present if there are accounts. */
  signIns?: SignInWatch | undefined;
  clock: Clock;
}

/** The session that the work belongs to. */
interface SessionOfWork {
  readonly view: View;
  readonly owner: Owner;
  /** Whether its client gets the tools of the hub. */
  readonly hasHubTools: boolean;
  /** The description of the session for history and audit record. */
  readonly recorded: RecordedSession;
  /** The servers visible to its client. */
  readonly servers: VisibleServers;
  /** What the tokens of its requests allow; absent without access rules. */
  readonly access: SessionAccess | undefined;
  catalog: (server: string) => Catalog;
  save: () => void;
  readonly connections: Pick<ServerConnections, 'signInShown'>;
}

/** The work of a session. */
export interface SessionWork {
  /** Its memory budget. */
  budget: Budget;
  events: EventLog;
  tasks: TaskBook;
  interactions: InteractionRouter;
  calls: Calls;
  /** Absent without history and audit record. */
  recorder: SessionListener | undefined;
  /** Absent without notification targets. */
  notifier: SessionNotifier | undefined;
  /** Absent if there are no models. */
  models: ModelResponder | undefined;
  /** Absent without rules. */
  gate: PolicyGate | undefined;
}

/** Composes events, tasks, interactions and calls with their observers and gates. */
export function composeWork(parts: SessionParts, session: SessionOfWork): SessionWork {
  const { id, principal, settings, log, observed = {}, clock, store } = parts;
  const { entryBytes, questionBytes, sessionBytes } = settings.limits;
  const budget = new Budget(sessionBytes, 'limits.sessionBytes', parts.memory);
  const events = new EventLog(id, store, settings.events, log, { budget, total: parts.eventTotal, entryBytes, clock });
  const isHub = session.view.kind === 'hub';
  // A client that sees its own tasks needs events only for tasks it has lost, which the hub shows.
  const ofTask: EventSink['add'] = (type, server, data) => {
    if (session.hasHubTools) events.add(type, server, data);
    const { taskId } = data;
    if (typeof taskId === 'string' && tasks.find(taskId)?.abandoned) parts.notifyHub?.(type, server, data);
  };
  const ofQuestion: EventSink['add'] = (...event) => {
    if (session.hasHubTools) events.add(...event);
    parts.notifyHub?.(...event);
  };
  const tasks = new TaskBook({
    sessionId: id,
    store,
    events: isHub ? events : { add: ofTask },
    settings: settings.tasks,
    quota: parts.quotas.tasks,
    log,
    advice: isHub ? HUB_ADVICE : PROTOCOL_ADVICE,
    budget,
    observed,
    clock,
  });
  const live = new InFlight<string, LiveCall>();
  const recorder = bothListeners(
    parts.recorder && new SessionRecorder(parts.recorder, session.recorded, live),
    parts.audit?.session(session.recorded, live),
  );
  const notifier = parts.notifier && new SessionNotifier(parts.notifier, { id, principal, live, tasks, store, clock });
  const models = parts.models && modelResponder(parts.models, parts, session.servers, () => interactions);
  const interactions: InteractionRouter = new InteractionRouter({
    sessionId: id,
    store,
    tasks,
    calls: live,
    events: isHub ? events : { add: ofQuestion },
    // A client that is asked natively gets events only for unclaimed questions.
    announce: !isHub || settings.questions.via === 'native' ? 'unclaimed' : 'always',
    // An initialized client can also receive questions outside of calls.
    needsHost: () => !isHub && session.owner.kind !== 'client',
    onOccupied: (occupied) => parts.onQuestions?.(occupied),
    standing: parts.standing,
    ...(models && { modelTakes: (question) => !declares(session.owner, question) && models.takes(question) }),
    settings: settings.questions,
    log,
    budget,
    questionBytes,
    quota: parts.quotas.questions,
    observed,
    recorder,
    notifier,
    clock,
  });
  if (models) interactions.register('model', models.respond);
  const gate = parts.policy?.gateFor({
    principal,
    interactions,
    questionTimeoutMs: settings.questions.timeoutMs,
    annotationsOf: (server, tool) => session.catalog(server).annotationsOf(tool),
    configOf: (server) => session.servers.get(server)?.config,
    remembered: parts.remembered,
    onRemembered: () => session.save(),
    log,
  });
  const { accounts, signIns: watch } = parts;
  const signIns =
    accounts &&
    watch &&
    new SignInGate({
      principal,
      accounts,
      watch,
      interactions,
      onAsked: (signIn) => session.connections.signInShown(signIn),
      questionTimeoutMs: settings.questions.timeoutMs,
      clock,
      log,
    });
  const { access } = session;
  const calls = new Calls({
    live,
    tasks,
    interactions,
    store,
    settings,
    log,
    budget,
    observed,
    recorder,
    notifier,
    gate,
    mayCall: access && ((server, tool) => access.mayCall(server, tool)),
    quotas: parts.own,
    signIns,
    clock,
  });
  return { budget, events, tasks, interactions, calls, recorder, notifier, models, gate };
}

function modelResponder(
  models: Models,
  { settings, store, counters, log, clock, principal }: SessionParts,
  servers: VisibleServers,
  interactions: () => InteractionRouter,
): ModelResponder {
  return new ModelResponder({
    models,
    settings: settings.models,
    clientOf: (server) => ({ principal, server, configured: servers.get(server)?.addedBy === 'config file' }),
    interactions,
    store,
    counters,
    log,
    clock,
  });
}

/** Whether the client declared the capability for this question when it initialized. */
function declares(owner: Owner, { kind, params }: OpenInteraction): boolean {
  const declared = owner.kind === 'client' ? owner.client.capabilities[kind] : undefined;
  return isObject(declared) && (params['tools'] === undefined || declared['tools'] !== undefined);
}
