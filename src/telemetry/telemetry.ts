import type { Because } from '../core/call/request.ts';
import type {
  ForwardOutcome,
  NotificationOutcome,
  ObservedQuestion,
  ObservedRequest,
  ObservedServerRequest,
  Observer,
  Operation,
} from '../core/observer.ts';
import type { QuotaName } from '../core/quota/settings.ts';
import type { EndedTask } from '../core/task/task.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Tracer } from './traces/tracer.ts';

/** The observer of a gateway: forwards events to metrics and traces, if in use. */
export class Telemetry implements Observer {
  metrics: Metrics | undefined;
  tracer: Tracer | undefined;

  clientRequest(request: ObservedRequest): Operation {
    const begun = performance.now();
    const span = this.tracer?.clientRequest(request);
    return {
      context: span?.context,
      end: (errorType) => {
        const seconds = (performance.now() - begun) / 1000;
        this.metrics?.clientRequestEnded(seconds, request.method, request.view, errorType);
        span?.end(errorType);
      },
    };
  }

  serverRequest(request: ObservedServerRequest): Operation {
    const begun = performance.now();
    const span = this.tracer?.serverRequest(request);
    return {
      context: span?.context,
      end: (errorType) => {
        const seconds = (performance.now() - begun) / 1000;
        this.metrics?.serverRequestEnded(seconds, request.method, request.server, errorType);
        span?.end(errorType);
      },
    };
  }

  callPromoted(server: string, because: Because): void {
    this.metrics?.callPromoted(server, because);
  }

  taskEnded(task: EndedTask): void {
    this.metrics?.taskEnded(task);
  }

  questionEnded(question: ObservedQuestion): void {
    this.metrics?.questionEnded(question);
    this.tracer?.questionEnded(question);
  }

  storeCommitted(seconds: number, outcome: 'stored' | 'failed'): void {
    this.metrics?.storeCommitted(seconds, outcome);
  }

  requestForwarded(outcome: ForwardOutcome): void {
    this.metrics?.requestForwarded(outcome);
  }

  notificationSent(target: string, outcome: NotificationOutcome, count = 1): void {
    this.metrics?.notificationSent(target, outcome, count);
  }

  quotaRefused(quota: QuotaName): void {
    this.metrics?.quotaRefused(quota);
  }
}
