import type { Because } from '../core/call/request.ts';
import type {
  ForwardOutcome,
  ObservedQuestion,
  ObservedRequest,
  ObservedServerRequest,
  Observer,
  Operation,
} from '../core/observer.ts';
import type { EndedTask } from '../core/task/task.ts';
import type { Metrics } from './metrics/metrics.ts';

/** The observer of a gateway: passes what it is told to the metrics. */
export class Telemetry implements Observer {
  metrics: Metrics | undefined;

  clientRequest(request: ObservedRequest): Operation {
    const begun = performance.now();
    return {
      end: (errorType) => {
        const seconds = (performance.now() - begun) / 1000;
        this.metrics?.clientRequestEnded(seconds, request.method, request.view, errorType);
      },
    };
  }

  serverRequest(request: ObservedServerRequest): Operation {
    const begun = performance.now();
    return {
      end: (errorType) => {
        const seconds = (performance.now() - begun) / 1000;
        this.metrics?.serverRequestEnded(seconds, request.method, request.server, errorType);
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
  }

  storeCommitted(seconds: number, outcome: 'stored' | 'failed'): void {
    this.metrics?.storeCommitted(seconds, outcome);
  }

  requestForwarded(outcome: ForwardOutcome): void {
    this.metrics?.requestForwarded(outcome);
  }
}
