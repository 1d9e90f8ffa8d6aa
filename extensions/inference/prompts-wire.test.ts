import "../../test/loopback.ts";
import { expect, test, vi } from "vitest";
import type { Sampler } from "../../src/engines/engine.ts";
import { engineModel } from "./engine-model.ts";
import { chat, folder, user } from "./prompts.fixture.ts";
import { serveInference } from "./server.ts";

test("a body that no context could hold is refused before it is parsed", async () => {
  const sampler = { info: { maxLength: 128, vocabularySize: 1024, capabilities: [] } } as unknown as Sampler;
  const models = new Map([["office", engineModel(sampler, chat, folder)]]);
  const server = await serveInference({ host: "127.0.0.1", port: 0, keys: [], models });
  const parse = vi.spyOn(JSON, "parse");
  const body = JSON.stringify({ model: "office", messages: user("x".repeat(5_000_000)) });
  const answer = await fetch(`${server.baseUrl}/v1/chat/completions`, { method: "POST", body });
  expect(parse.mock.calls.filter(([text]) => text.length > 1000)).toEqual([]);
  parse.mockRestore();
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { code: "context_length_exceeded" } });
  await server.close();
});
