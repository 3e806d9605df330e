import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { messageOf, type Log } from '../../lib/log.ts';
import { redactUrl } from '../../lib/redact.ts';
import { within } from '../../lib/timers.ts';
import type { TraceSettings } from './settings.ts';
import { encodeSpans, type Span } from './span.ts';

type ExportSettings = Omit<TraceSettings, 'sampler'>;

/** How long the program waits for the collector when it ends. */
const LAST_EXPORT_MS = 1500;
const LONGEST_PAUSE_MS = 60_000;
/** The status codes of a collector that temporarily accepts no spans. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The collector answered with an error. */
class Refused extends Error {
  readonly mayPass: boolean;

  constructor(status: number) {
    super(`HTTP ${status}`);
    this.mayPass = PASSING.has(status);
  }
}

/** Sends spans to a collector, in groups and without making anybody wait. */
export class SpanExporter {
  readonly #settings: ExportSettings;
  readonly #log: Log;
  #queue: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #failures = 0;
  #dropped = 0;
  #closed = false;

  constructor(settings: ExportSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  add(span: Span): void {
    const { queueSize, batchSize } = this.#settings;
    if (this.#queue.length >= queueSize) {
      if (this.#dropped === 0)
        this.#log.warn('span_queue_full', { limit: 'OTEL_BSP_MAX_QUEUE_SIZE', spans: queueSize });
      this.#dropped += 1;
      return;
    }
    this.#queue.push(span);
    if (this.#closed) return;
    if (this.#queue.length >= batchSize && this.#failures === 0) this.#send();
    else this.#schedule();
  }

  /** Sends what is left, if the collector takes it soon enough. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await within(LAST_EXPORT_MS, this.#drain());
    const lost = this.#queue.length + this.#dropped;
    if (lost > 0) this.#log.warn('spans_dropped', { spans: lost });
    this.#queue = [];
  }

  async #drain(): Promise<void> {
    await this.#sending;
    // Once in any case: the collector may be back.
    if (this.#queue.length > 0) await this.#export();
    while (this.#queue.length > 0 && this.#failures === 0) await this.#export();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#sending !== undefined) return;
    const pause = Math.min(this.#settings.delayMs * 2 ** this.#failures, LONGEST_PAUSE_MS);
    this.#timer = setTimeout(() => this.#send(), pause).unref();
  }

  #send(): void {
    if (this.#sending !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#export().finally(() => {
      this.#sending = undefined;
      if (this.#queue.length > 0 && !this.#closed) this.#schedule();
    });
  }

  async #export(): Promise<void> {
    const { batchSize, resource } = this.#settings;
    const batch = this.#queue.slice(0, batchSize);
    try {
      await post(this.#settings, encodeSpans(batch, resource));
      this.#queue.splice(0, batch.length);
      this.#recovered();
    } catch (error) {
      this.#failed(batch, error);
    }
  }

  #recovered(): void {
    if (this.#failures > 0 || this.#dropped > 0) this.#log.info('spans_exported_again', { dropped: this.#dropped });
    this.#failures = 0;
    this.#dropped = 0;
  }

  /** Spans wait for a collector that may be back soon; those that it refuses are dropped. */
  #failed(batch: readonly Span[], error: unknown): void {
    if (error instanceof Refused && !error.mayPass) {
      this.#queue.splice(0, batch.length);
      this.#dropped += batch.length;
    }
    this.#failures += 1;
    if (this.#failures > 1) return;
    this.#log.warn('spans_not_exported', { url: redactUrl(this.#settings.url.href), error: messageOf(error) });
  }
}

/** Redirects are not followed: the headers may hold a secret of the collector. */
async function post({ url, headers, timeoutMs }: ExportSettings, body: string): Promise<void> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const status = await new Promise<number>((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    sent.on('response', (response) => {
      response.resume().on('error', reject);
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end(body);
  });
  if (status < 200 || status > 299) throw new Refused(status);
}
