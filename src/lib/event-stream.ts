/** Reads server-sent events. For streams of our own: south has a parser that trusts nobody. */

export interface StreamEvent {
  id: string | undefined;
  /** The type of the event. */
  name: string;
  data: string;
}

/** Reads events from pieces of text; comments only show that the stream is alive. */
export class EventReader {
  #rest = '';
  #id: string | undefined;
  #name = 'message';
  #data: string[] = [];

  /** The events that are complete with this piece. */
  read(piece: string): StreamEvent[] {
    const lines = (this.#rest + piece).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#line(line.endsWith('\r') ? line.slice(0, -1) : line));
  }

  #line(line: string): StreamEvent[] {
    if (line === '') return this.#end();
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#name = value;
    else if (field === 'id') this.#id = value;
    return [];
  }

  #end(): StreamEvent[] {
    const event = { id: this.#id, name: this.#name, data: this.#data.join('\n') };
    const isEvent = this.#data.length > 0;
    this.#id = undefined;
    this.#name = 'message';
    this.#data = [];
    return isEvent ? [event] : [];
  }
}
