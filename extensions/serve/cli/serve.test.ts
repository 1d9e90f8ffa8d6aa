import { expect, test, vi } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import { startInference } from "./serve.ts";

const order = vi.hoisted((): string[] => []);
const names = ["a", "b"];
vi.mock(import("../../local/engine.ts"), () => ({
  createLocalEngine: async () => {
    const name = names.shift();
    return {
      info: { maxLength: 64, vocabularySize: 8, capabilities: [] },
      sample: async () => void order.push(`${name} samples`),
      dispose: async () => {},
    } as never;
  },
}));
vi.mock(import("../../inference/server.ts"), async (original) => ({
  ...(await original()),
  serveInference: async () => {
    order.push("listens");
    return { baseUrl: "http://x", close: async () => {} };
  },
}));

test("each model samples once before clients are let in: its sessions are not made while one waits", async () => {
  await startInference({ model: ["a=default", "b=default"] }, createScreen({ write: () => {} }));
  expect(order).toEqual(["a samples", "b samples", "listens"]);
});
