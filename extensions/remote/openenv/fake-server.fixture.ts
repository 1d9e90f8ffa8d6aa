import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export interface FakeServer {
  readonly url: string;
  /** Texts that clients sent on WebSockets. */
  readonly sent: string[];
  /** What it answers by HTTP. */
  readonly routes: Record<string, unknown>;
  readonly headers: IncomingMessage["headers"][];
  /** The paths that it was asked for by HTTP. */
  readonly paths: string[];
  /** Sessions that are open. */
  open(): number;
  close(): Promise<void>;
}

/** A WebSocket server whose answers are whatever the test says: an object, text as it is, or undefined for none. */
export async function fakeServer(
  answer: (message: { readonly type: string; readonly data?: unknown }, socket: WebSocket, text: string) => unknown,
  { routes = {}, onOpen }: { readonly routes?: Record<string, unknown>; readonly onOpen?: (socket: WebSocket) => void } = {},
): Promise<FakeServer> {
  const sent: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const paths: string[] = [];
  const http = createServer((request, response) => {
    headers.push(request.headers);
    paths.push(request.url ?? "");
    const found = routes[request.url ?? ""];
    response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(typeof found === "string" ? found : JSON.stringify(found ?? { detail: "Not Found" }));
  });
  const sockets = new WebSocketServer({ server: http });
  sockets.on("connection", (socket, request) => {
    headers.push(request.headers);
    onOpen?.(socket);
    socket.on("message", async (data) => {
      const text = String(data);
      if (text === '{"type":"close"}') return socket.close();
      sent.push(text);
      const said = await answer(JSON.parse(text), socket, text);
      if (said !== undefined) socket.send(typeof said === "string" ? said : JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`,
    sent,
    routes,
    headers,
    paths,
    open: () => sockets.clients.size,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
