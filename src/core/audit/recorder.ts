/**
 * Writes the audit record. Lines are collected, sealed a moment later (numbered, contents hashed) and written in batches, in the
 * background. While the store cannot be written, a limited number of lines is queued; further lines are counted, and a `gap` line
 * reports how many are missing.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { hashInTurns, hashOf } from '../../lib/canonical-json.ts';
import type { Clock } from '../../lib/clock.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { redactSecrets, redactUrl } from '../../lib/redact.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { shortenText } from '../../lib/shorten.ts';
import { every, within } from '../../lib/timers.ts';
import type { LiveCall } from '../call/live-call.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { ServerConfig } from '../ports/server-config.ts';
import type { RecordedSession, SessionListener } from '../session/session-listener.ts';
import type { AuditSettings } from '../settings.ts';
import { WriteLoop, type Writable } from '../write-loop.ts';
import {
  AUDIT_VERSION,
  type AuditLine,
  type ContentFacts,
  type NewLine,
  type ServerLine,
  type SignInLine,
} from './line.ts';
import { Refusals } from './refusals.ts';
import { SessionAudit, type BeganWriter, type LineSink } from './session-audit.ts';

/** How long lines are collected, and so what a killed process can lose. A call that takes longer gets a `began` line. */
const COLLECT_MS = 100;
/** The limit on queued lines and their approximate bytes: almost a minute at a thousand calls per second. */
const MOST_WAITING = 50_000;
const MOST_WAITING_BYTES = 64 * 1024 * 1024;
/** The approximate size of a line without its content. */
const LINE_BYTES = 700;
/** Larger contents are not kept, and are hashed in several turns of the event loop. */
const SMALL_BYTES = 65_536;
/** How many lines are sealed in one turn. */
const SEALED_AT_ONCE = 500;
/** Longer texts from clients and servers are truncated. */
const TEXT_LENGTH = 512;
const TRIM_MS = 60_000;
/** The size is checked each time this fraction of the allowed bytes was written. */
const SIZE_CHECKS = 16;
/** How long shutdown waits for the last write. */
const LAST_WRITE_MS = 5000;

interface Collected {
  line: NewLine;
  content: object | undefined;
}

interface Sealed extends Writable {
  line: AuditLine;
  bytes: number;
}

interface Missing {
  count: number;
  from: number;
  to: number;
}

export interface AuditParts {
  store: AuditLog;
  settings: AuditSettings;
  /** Identifies the lines of this gateway. */
  gateway: string;
  log: Log;
  clock: Clock;
  /** The limit on queued lines. */
  mostWaiting?: number;
}

export class AuditRecorder implements LineSink {
  readonly store: AuditLog;
  readonly keepsContents: boolean;
  readonly #parts: AuditParts;
  readonly #loop: WriteLoop;
  readonly #refusals: Refusals;
  /** Running calls that have no line yet. */
  readonly #running = new InFlight<LiveCall, BeganWriter>();
  #collected: Collected[] = [];
  readonly #waiting = new Set<Sealed>();
  /** The number of unwritten lines, and the approximate bytes queued for the store. */
  #unwritten = 0;
  #waitingBytes = 0;
  #missing: Missing | undefined;
  #n = 0;
  #cancelTick: (() => void) | undefined;
  #sealing: Promise<void> | undefined;
  /** The approximate bytes written since the last size check. */
  #written = 0;
  #stopTrimming = (): void => {};
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(parts: AuditParts) {
    const { store, settings, clock, log } = parts;
    this.#parts = parts;
    this.store = store;
    this.keepsContents = settings.arguments === 'keep';
    this.#loop = new WriteLoop({ name: 'audit', collectMs: 0, clock, log, onTick: () => void this.#writeSoon() });
    this.#refusals = new Refusals(clock, (line) => this.add(line));
  }

  start(): void {
    this.#stopTrimming = every(TRIM_MS, () => void this.#trim(), this.#parts.clock);
    void this.#trim();
  }

  now(): number {
    return this.#parts.clock.now();
  }

  // --- What happens ---

  session(about: RecordedSession, live: Pick<InFlight<string, LiveCall>, 'get'>): SessionListener {
    return new SessionAudit(this, about, live);
  }

  addRunning(call: LiveCall, writer: BeganWriter): void {
    this.#running.add(call, writer);
    this.#tickSoon();
  }

  removeRunning(call: LiveCall): boolean {
    return this.#running.delete(call);
  }

  serverChanged(event: ServerLine['event'], server: string, about: RecordedSession, config?: ServerConfig): void {
    const { id: sessionId, principal, view } = about;
    const program = about.program();
    const session = { principal, ...(program !== undefined && { program }), sessionId, view };
    const address = config && { address: 'url' in config ? redactUrl(config.url) : config.command };
    this.add({ kind: 'server', event, at: this.now(), ...session, server, ...address });
  }

  signedIn(line: Pick<SignInLine, 'place' | 'principal' | 'method' | 'address'>): void {
    this.add({ kind: 'sign_in', event: 'accepted', at: this.now(), ...line });
  }

  signInRefused(place: SignInLine['place'], address: string | undefined): void {
    this.#refusals.refused(place, address);
  }

  add(line: NewLine, content?: object): void {
    if (this.#closed) {
      this.#parts.log.error('audit_line_too_late', { kind: line.kind, event: line.event });
      return;
    }
    const { mostWaiting = MOST_WAITING } = this.#parts;
    if (this.#unwritten >= mostWaiting || this.#waitingBytes >= MOST_WAITING_BYTES) {
      this.#miss(line.at);
      return;
    }
    this.#tellMissing();
    this.#collect(line, content);
    this.#tickSoon();
  }

  #collect(line: NewLine, content?: object): void {
    this.#collected.push({ line, content });
    this.#unwritten += 1;
  }

  #miss(at: number): void {
    if (this.#missing === undefined) {
      this.#parts.log.error('audit_lines_dropped', { waiting: this.#waiting.size });
      this.#missing = { count: 0, from: at, to: at };
    }
    this.#missing.count += 1;
    this.#missing.from = Math.min(this.#missing.from, at);
    this.#missing.to = Math.max(this.#missing.to, at);
  }

  #tellMissing(): void {
    if (this.#missing === undefined) return;
    const missing = this.#missing;
    this.#missing = undefined;
    this.#parts.log.error('audit_lines_missing', { ...missing });
    this.#collect({ kind: 'gap', event: 'dropped', at: this.now(), ...missing });
  }

  // --- Sealing ---

  #tickSoon(): void {
    this.#cancelTick ??= this.#parts.clock.after(COLLECT_MS, () => void this.#tick(), { unref: true });
  }

  async #tick(): Promise<void> {
    this.#cancelTick = undefined;
    this.#tellRunning();
    await this.#seal();
    if (this.#waiting.size > 0) this.#loop.schedule();
    if (this.#running.size > 0) this.#tickSoon();
  }

  #tellRunning(): void {
    const before = this.now() - COLLECT_MS;
    for (let { oldest } = this.#running; oldest !== undefined; { oldest } = this.#running) {
      const { key: call, value: writer } = oldest;
      if (call.startedAt > before) return;
      this.#running.delete(call);
      writer.writeBegan(call);
    }
  }

  /** Sequential, so that lines are numbered in the order in which they were added. */
  async #seal(): Promise<void> {
    while (this.#sealing !== undefined) await this.#sealing;
    if (this.#collected.length === 0) return;
    this.#sealing = this.#sealAll().finally(() => {
      this.#sealing = undefined;
    });
    await this.#sealing;
  }

  async #sealAll(): Promise<void> {
    for (let count = 1; this.#collected.length > 0;) {
      const collected = this.#collected;
      this.#collected = [];
      for (const { line, content } of collected) {
        this.#n += line.kind === 'gap' ? line.count + 1 : 1;
        const numbered = { v: AUDIT_VERSION, gateway: this.#parts.gateway, n: this.#n, ...line } as AuditLine;
        const sealing = this.#sealed(numbered, content);
        const sealed = sealing instanceof Promise ? await sealing : sealing;
        this.#waiting.add(sealed);
        this.#waitingBytes += sealed.bytes;
        if (count % SEALED_AT_ONCE === 0) await nextTurn();
        count += 1;
      }
    }
  }

  /** Asynchronous only for large contents, which are rare. */
  #sealed(line: AuditLine, content: object | undefined): Sealed | Promise<Sealed> {
    shortenTexts(line as unknown as Record<string, unknown>);
    if (content === undefined || this.#parts.settings.arguments === 'none') return { line, bytes: LINE_BYTES };
    const contentBytes = roughSize(content, Infinity);
    if (contentBytes > SMALL_BYTES) {
      return hashInTurns(content).then((contentHash) => ({
        line: Object.assign(line, { contentHash, contentBytes }),
        bytes: LINE_BYTES,
      }));
    }
    const facts: ContentFacts = { contentHash: hashOf(content), contentBytes };
    if (this.keepsContents) facts.content = redactSecrets(content);
    return { line: Object.assign(line, facts), bytes: LINE_BYTES + (this.keepsContents ? contentBytes : 0) };
  }

  // --- Writing ---

  async #writeSoon(): Promise<void> {
    await this.#loop.run(async () => this.#write());
    if (this.#waiting.size > 0) this.#loop.schedule();
    if (this.#written > this.#parts.settings.bytes / SIZE_CHECKS) void this.#trim();
  }

  async #write(): Promise<void> {
    const due = this.#loop.inOrder([...this.#waiting]);
    while (due.length > 0) {
      const batch = this.#loop.nextOf(due);
      try {
        await this.store.append(batch.map(({ line }) => line));
        for (const sealed of batch) this.#taken(sealed);
        for (const { bytes } of batch) this.#written += bytes;
        this.#loop.succeeded(batch, this.#missing?.count ?? 0);
      } catch (error) {
        this.#loop.failed(batch.length, error);
        this.#notWritten(batch);
        return;
      }
    }
    if (this.#missing === undefined) return;
    this.#tellMissing();
    this.#tickSoon();
  }

  #notWritten(batch: readonly Sealed[]): void {
    const isAlone = batch.length === 1;
    for (const sealed of batch) {
      if (this.#loop.isHopeless(sealed, isAlone)) {
        this.#taken(sealed);
        this.#miss(sealed.line.at);
      } else if (isAlone) {
        // Other lines go first next time: their success shows whether only this one fails.
        this.#waiting.delete(sealed);
        this.#waiting.add(sealed);
      }
    }
  }

  #taken(sealed: Sealed): void {
    this.#waiting.delete(sealed);
    this.#unwritten -= 1;
    this.#waitingBytes -= sealed.bytes;
  }

  /** Writes all lines so far, if the store can be written. Never fails. */
  async flush(): Promise<void> {
    await this.#seal();
    if (this.#waiting.size > 0) await this.#writeSoon();
  }

  async #trim(): Promise<void> {
    const { store, settings, clock, log } = this.#parts;
    this.#written = 0;
    if (this.#closed) return;
    try {
      await store.trim(clock.now() - settings.keepMs, settings.bytes);
    } catch (error) {
      // Retried in a minute.
      log.warn('audit_clean_up_failed', { error: messageOf(error) });
    }
  }

  /** Writes the last lines, if that is possible soon. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { clock, log } = this.#parts;
    this.#refusals.close();
    this.#stopTrimming();
    this.#tellMissing();
    await within(LAST_WRITE_MS, this.flush(), clock);
    this.#closed = true;
    this.#cancelTick?.();
    this.#loop.close();
    if (this.#unwritten > 0) log.error('audit_lines_lost', { count: this.#unwritten });
  }
}

function shortenTexts(line: Record<string, unknown>): void {
  for (const name in line) {
    const value = line[name];
    if (typeof value === 'string' && value.length > TEXT_LENGTH) line[name] = shortenText(value, TEXT_LENGTH);
  }
}
