import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clean, folder, tasks, trained } from "./train-agent.fixture.ts";

test("a program of its own is reached by its environment, and one that fails is named", async () => {
  const file = join(folder, "agent.cjs");
  writeFileSync(
    file,
    `let text = "";
process.stdin.on("data", (part) => (text += part)).on("end", async () => {
  const { prompt, length } = JSON.parse(text);
  // Clients of Anthropic that are given two credentials refuse them.
  if (process.env.ANTHROPIC_AUTH_TOKEN === process.env.ANTHROPIC_API_KEY) throw new Error("two credentials");
  if (length === 2 && process.env.FAILS) throw new Error("my agent is broken");
  const headers = { "x-api-key": process.env.ANTHROPIC_API_KEY };
  const body = JSON.stringify({ model: "claude", max_tokens: 8, messages: [{ role: "user", content: prompt }] });
  const response = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });
  console.log((await response.json()).content.map(({ text }) => text).join("") + process.env.OTEL_RESOURCE_ATTRIBUTES);
});`,
  );
  const { metrics, answers } = await trained({ agent: { command: [process.execPath, file] } });
  expect(metrics).toMatchObject({ ...clean, turns: 1 });
  for (const answer of answers) expect(answer).toMatch(/retrograde\.episode=step-1\/\d\/\d$/);
  process.env.FAILS = "1";
  const broken = await trained({ agent: { command: [process.execPath, file] }, tasks: { train: tasks.slice(1, 3), test: [] } });
  delete process.env.FAILS;
  expect(broken.metrics).toMatchObject({ "stop/agent-error": 3 });
  expect(broken.trajectories.find(({ error }) => error !== undefined)?.error).toMatch(/exit code 1.*my agent is broken/s);
});
