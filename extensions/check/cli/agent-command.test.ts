import { expect, test } from "vitest";
import { agentCommand } from "./agent-command.ts";

test("a command over an agent can be copied: a program's own flags are behind --", () => {
  const files = { tasks: "my tasks.jsonl", reward: "r.ts" };
  expect(agentCommand("check", ["a.ts"], files)).toMatch(/ check a\.ts --tasks 'my tasks\.jsonl' --reward r\.ts$/);
  expect(agentCommand("train-agent", ["python", "a.py", "--fast"], files, " --model m")).toMatch(
    / train-agent --tasks 'my tasks\.jsonl' --reward r\.ts --model m -- python a\.py --fast$/,
  );
});
