import { mkdtempSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";

let server: Server | undefined;
afterEach(() => server?.close());

/** A server of files: their bytes, or a status. */
export async function serve(answer: (path: string) => Buffer | number): Promise<string> {
  server = createServer((request, response) => {
    const body = answer(request.url ?? "");
    response.writeHead(typeof body === "number" ? body : 200).end(typeof body === "number" ? "" : body);
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/files`;
}

export const folder = () => mkdtempSync(join(tmpdir(), "bfcl-"));
