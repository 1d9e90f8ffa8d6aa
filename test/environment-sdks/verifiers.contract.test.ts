import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { rollout } from "../../src/rollouts/rollout.ts";
import { openModel } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { opened, script, serve, withPackage } from "./packages.ts";

withPackage(
  "verifiers",
  "verifiers 0.4: its environment server samples the bundled model here, and what it saw is the trajectory",
  async () => {
    const tasks = join(mkdtempSync(join(tmpdir(), "verifiers-")), "tasks.jsonl");
    const port = await serve("verifiers", (at) => [script("verifiers_world.py"), `tcp://127.0.0.1:${at}`, tasks]);
    const model = fileURLToPath(new URL("../../models/office", import.meta.url));
    const { engine, chat } = await openModel(model, resolveConfig({}).engine, {
      use: { training: false, length: 512, concurrency: 4 },
      seed: 1,
    });
    const environment = await opened(`verifiers:tcp://127.0.0.1:${port}`, {
      ...{ tasks: { test: tasks }, tokenizer: model, renderer: "default", rolloutTimeoutMs: 200_000 },
    });
    const options = { id: "r/0", group: "r", seed: 1, maxTurns: 4, maxTokens: 20, episodeTimeoutMs: 60_000 };
    const trajectory = await rollout(engine, chat, environment, await environment.task("test", 0), options);
    await engine.dispose();
    expect(trajectory).toMatchObject({ stopReason: expect.stringMatching(/done|max-tokens/), task: "test/0" });
    expect(trajectory.error).toBeUndefined();
    const [turn] = trajectory.turns;
    expect(chat.tokenizer.decode(turn.context.slice())).toContain("Write the letter a.");
    expect(turn.samplerLogprobs).toHaveLength(turn.action.length);
    const answer = trajectory.messages.at(-1)?.content ?? "";
    expect(trajectory.scores.length).toBe(answer.length);
    expect(trajectory.reward).toBeCloseTo((2 * answer.split("a").length - 2) / Math.max(1, answer.length), 6);
  },
);
