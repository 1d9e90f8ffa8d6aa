import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";
import { defineEnvironment } from "../environments/define.ts";

/** An environment whose reward is 1 for the prompt as the answer. */
export function echoEnvironment(prompts: readonly string[]) {
  const tasks = prompts.map((prompt) => ({ prompt }));
  return defineEnvironment({
    name: "echo",
    tasks: { train: tasks, test: tasks },
    start: ({ prompt }) => ({ tools: [], reward: ({ answer }) => Number(answer === prompt) }),
  });
}

/**
 * A server while the tests of a file run: of the models "says-a", which always says "a", "expired", whose key has expired, "silent", which never
 * answers, and others, which repeat their prompt.
 * @returns its address, once it is there
 */
export function serveEchoes(usage?: object): () => string {
  const server = createServer(async (request, response) => {
    const parts = await request.toArray().catch(() => undefined);
    if (parts === undefined) return; // who asked has gone
    const { model, messages } = JSON.parse(Buffer.concat(parts).toString());
    if (model === "silent") return;
    if (model === "expired") return void response.writeHead(401).end("expired");
    const content = model === "says-a" ? "a" : messages.at(-1).content;
    response.end(JSON.stringify({ choices: [{ message: { content }, finish_reason: "stop" }], usage }));
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
