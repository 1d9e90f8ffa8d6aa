import "../../test/loopback.ts";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { readBytes } from "./read-body.ts";

const server = createServer((request, response) => {
  response.write("half");
  if (request.url === "/whole") response.end(" and half");
});
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test("a body is read whole, and one that is too large not at all", async () => {
  expect(await readBytes(await fetch(`${url}/whole`), 100)).toEqual(new TextEncoder().encode("half and half"));
  expect(await readBytes(await fetch(`${url}/whole`), 5)).toBeUndefined();
});

test("a body that never ends is read until the signal, which fetch does not know", async () => {
  const controller = new AbortController();
  const reading = readBytes(await fetch(url), 100, controller.signal);
  setTimeout(() => controller.abort(new Error("enough")), 20);
  await expect(reading).rejects.toThrow("enough");
  await expect(readBytes(await fetch(url), 100, AbortSignal.abort(new Error("before")))).rejects.toThrow("before");
});
