import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

/**
 * A network in memory, for unit tests of servers and of their clients: importing this module lets `listen` take a port of this process alone, and
 * lets `connect` reach it. Node's own HTTP parser, `fetch` and the package `ws` run over it as over a real one. No port of the machine is
 * opened, and an address outside of this process is refused as in every unit test.
 */

type Callback = (error?: Error | null) => void;

/** Parts of Node's sockets and servers that its types leave out. */
interface Inner {
  _handle: unknown;
  _connections: number;
  _server: net.Server;
  _unrefTimer(): void;
  _read(): void;
  _write(chunk: Buffer, encoding: string, done: Callback): void;
  _writev: undefined;
  _final(done: Callback): void;
  _destroy(error: Error | null, done: Callback): void;
}
const inner = (of: net.Socket | net.Server) => of as unknown as Inner;
const { _normalizeArgs: normalize } = net as unknown as {
  _normalizeArgs(args: unknown[]): [net.TcpNetConnectOpts & { path?: string }, (() => void) | null | undefined];
};

/** Taken before a test may replace timers. */
const soon = setImmediate;
const servers = new Map<string, net.Server>();
const outside = net.Socket.prototype.connect;
const here = /^(?:127\.\d+\.\d+\.\d+|localhost|::1|\[::1\]|0\.0\.0\.0|::)$/;
let lastPort = 20_000;

function failure(code: string, call: string, address: string): Error {
  return Object.assign(new Error(`${call} ${code} ${address}`), { code, syscall: call });
}

/** Makes the two ends of a connection. What one writes the other reads, later, as fast as it reads. */
function join(one: net.Socket, other: net.Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ]) {
    let ended = false;
    let waiting: Callback | undefined;
    const end = () => {
      if (!ended && !to.destroyed) to.push(null);
      ended = true;
    };
    Object.assign(inner(from), {
      _writev: undefined,
      _write: (chunk: Buffer, _: string, done: Callback) => {
        inner(from)._unrefTimer();
        soon(() => {
          if (to.destroyed || ended) return done(failure("EPIPE", "write", ""));
          inner(to)._unrefTimer();
          if (to.push(Buffer.from(chunk))) done();
          else waiting = done;
        });
      },
      _final: (done: Callback) =>
        void soon(() => {
          end();
          done();
        }),
      _destroy: (error: Error | null, done: Callback) => {
        soon(end);
        net.Socket.prototype._destroy.call(from, error, done);
      },
    } satisfies Partial<Inner>);
    inner(to)._read = () => {
      const done = waiting;
      waiting = undefined;
      done?.();
    };
    to.once("close", () => waiting?.(failure("ECONNRESET", "write", "")));
    Object.assign(to, { ref: () => to, unref: () => to });
    for (const side of ["remote", "local"] as const) {
      Object.defineProperty(to, `${side}Address`, { value: "127.0.0.1", configurable: true });
      Object.defineProperty(to, `${side}Port`, { value: 1, configurable: true });
    }
  }
}

net.Server.prototype.listen = function listen(this: net.Server, ...args: unknown[]) {
  const [{ port = 0, host = "127.0.0.1", path }, listening] = normalize(args);
  if (listening) this.once("listening", listening);
  const place = path ?? String(Number(port) === 0 ? ++lastPort : port);
  if (servers.has(place)) {
    soon(() => this.emit("error", failure("EADDRINUSE", "listen", `address already in use ${host}:${place}`)));
    return this;
  }
  servers.set(place, this);
  inner(this)._handle = {
    close: () => servers.delete(place),
    ref: () => {},
    unref: () => {},
    getsockname: (address: object) => {
      Object.assign(address, { address: host, family: host.includes(":") ? "IPv6" : "IPv4", port: Number(place) });
      return 0;
    },
  };
  soon(() => inner(this)._handle !== null && this.emit("listening"));
  return this;
} as typeof net.Server.prototype.listen;

net.Socket.prototype.connect = function connect(this: net.Socket, ...args: unknown[]) {
  const [options, connected] = Array.isArray(args[0]) ? (args[0] as ReturnType<typeof normalize>) : normalize(args);
  const { port = 0, host = "localhost", lookup } = options;
  const path = options.path ?? undefined; // null of Node's agents
  if (path === undefined && lookup === undefined && !here.test(host) && !host.endsWith(".invalid"))
    return outside.apply(this, args as Parameters<typeof outside>);
  if (connected) this.once("connect", connected);
  const place = path ?? String(port);
  const server = servers.get(place);
  Object.assign(this, { connecting: true });
  const peer = new net.Socket({ allowHalfOpen: (server as { allowHalfOpen?: boolean } | undefined)?.allowHalfOpen === true });
  join(this, peer);
  const reach = (address: string) => {
    Object.assign(this, { connecting: false });
    if (this.destroyed) return;
    if (address.endsWith(".invalid")) return void this.destroy(failure("ENOTFOUND", "getaddrinfo", address));
    if (server === undefined || servers.get(place) !== server || !(path !== undefined || here.test(address)))
      return void this.destroy(failure("ECONNREFUSED", "connect", path ?? `${address}:${place}`));
    if (server.maxConnections != null && inner(server)._connections >= server.maxConnections) {
      server.emit("drop");
      return void peer.destroy();
    }
    inner(server)._connections++;
    Object.assign(peer, { server, _server: server });
    this.emit("connect");
    this.emit("ready");
    server.emit("connection", peer);
  };
  soon(() => {
    if (path !== undefined || lookup === undefined || net.isIP(host) !== 0) return reach(host);
    lookup(host, { all: true }, (error, addresses) =>
      soon(() => (error ? this.destroy(error) : reach(typeof addresses === "string" ? addresses : addresses[0].address))),
    );
  });
  return this;
} as typeof net.Socket.prototype.connect;
syncBuiltinESMExports();
