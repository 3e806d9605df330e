/** Stands between a program and a server: cuts connections, turns them away, slows them down, or holds back what they say. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export class TcpProxy {
  /** How much later everything arrives, in either direction. */
  delayMs = 0;
  /** How often the program has said something; often that is a statement. */
  said = 0;
  /** How many connections were opened to it. */
  opened = 0;
  /** New connections are accepted and closed at once, like those to a balancer that has no server behind it. */
  turnsAway = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #held: { released: Promise<void>; release: () => void } | undefined;

  private constructor(port: number) {
    this.#server = createServer({ allowHalfOpen: true }, (near) => {
      this.opened += 1;
      if (this.turnsAway) {
        near
          .on('error', () => {})
          .resume()
          .end();
        return;
      }
      const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      near.on('data', () => (this.said += 1));
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const)
        this.#carry(from, to);
    });
  }

  static async start(port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks all connections; what is on its way is lost. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Nothing gets through until it is released; then what was said meanwhile arrives. */
  hold(): void {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#held ??= { released, release };
  }

  release(): void {
    this.#held?.release();
    this.#held = undefined;
  }

  async close(): Promise<void> {
    this.release();
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #carry(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    let last = Promise.resolve();
    const then = (act: () => void): void => {
      const arrives = delay(this.delayMs, undefined, { ref: false });
      last = last.then(async () => {
        if (this.delayMs > 0) await arrives;
        await this.#held?.released;
        if (!to.destroyed) act();
      });
    };
    from.setNoDelay(true);
    from.on('data', (chunk) => then(() => void to.write(chunk)));
    // What was said before the end still arrives.
    from.once('end', () => then(() => void to.end()));
    from.once('close', () => {
      this.#sockets.delete(from);
      then(() => to.destroySoon());
    });
    from.on('error', () => {
      // It is told by `close`.
    });
  }
}
