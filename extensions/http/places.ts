import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

/** A connection, in the order in which they came. */
interface Place {
  readonly address: string;
  /** True once it made a request that was let in: by a key, where the server has keys. */
  isKnown: boolean;
  /** Requests that came whole and are not answered yet. */
  answering: number;
}

const addressShare = 0.75;

/**
 * Gives connections their places. Where there is none, the newcomer gets that of one without a request in work: first of those that have not been
 * let in, then of those between two requests; always of the address that has most, and there of the oldest. So silent connections, however many,
 * keep nobody out. Node's own limit would refuse the newcomer.
 */
export class Places {
  readonly #most: number;
  readonly #all = new Map<Socket, Place>();

  constructor(server: Server, most: number) {
    this.#most = most;
    server.on("connection", (socket: Socket) => this.#enter(socket));
  }

  /** A request of this connection was let in. */
  letIn({ socket }: Pick<IncomingMessage, "socket">): void {
    const place = this.#all.get(socket);
    if (place !== undefined) place.isKnown = true;
  }

  /** A request is whole, and keeps its place until it `ends`. */
  begin({ socket }: Pick<IncomingMessage, "socket">): () => void {
    const place = this.#all.get(socket);
    if (place === undefined) return () => {};
    place.answering++;
    return () => void place.answering--;
  }

  #enter(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    const own = (place: Place) => place.address === address;
    const bounds = [
      [own, Math.ceil(addressShare * this.#most)],
      [() => true, this.#most],
    ] as const;
    for (const [counts, most] of bounds) if (this.#count(counts) >= most && !this.#free(counts)) return void socket.destroy();
    this.#all.set(socket, { address, isKnown: false, answering: 0 });
    socket.on("close", () => this.#all.delete(socket));
  }

  #count(counts: (place: Place) => boolean): number {
    return [...this.#all.values()].filter(counts).length;
  }

  /** Ends one of these connections. @returns false if all have requests in work */
  #free(counts: (place: Place) => boolean): boolean {
    const idle = [...this.#all].filter(([, place]) => place.answering === 0 && counts(place));
    const unknown = idle.filter(([, place]) => !place.isKnown);
    const candidates = unknown.length > 0 ? unknown : idle;
    const byAddress = new Map<string, number>();
    for (const [, { address }] of candidates) byAddress.set(address, (byAddress.get(address) ?? 0) + 1);
    const most = Math.max(...byAddress.values());
    const oldest = candidates.find(([, { address }]) => byAddress.get(address) === most);
    if (oldest === undefined) return false;
    const [socket] = oldest;
    this.#all.delete(socket);
    socket.destroy();
    return true;
  }
}
