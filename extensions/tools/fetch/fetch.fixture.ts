import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";
import { createPageReader, type FetchSettings } from "./fetch.ts";

export const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

export async function serve(listener: RequestListener): Promise<{ url: string; port: number; paths: string[] }> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, port, paths };
}

export const page = (body: string | Uint8Array, contentType = "text/html", headers: Record<string, string> = {}) =>
  serve((_, response) =>
    response.writeHead(200, { ...(contentType === "" ? {} : { "content-type": contentType }), ...headers }).end(body),
  );
export const read = async (url: string, settings: FetchSettings = {}) =>
  createPageReader({ allowLoopback: true, ...settings })(url);
export const bytes = (...values: number[]) => Uint8Array.from(values);

export const refusal = /expected a host of the public internet\. Private addresses are not read/;
