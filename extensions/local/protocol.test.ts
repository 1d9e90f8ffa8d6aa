import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Environment } from "../../src/environments/environment.ts";
import { oneMessage } from "../../src/environments/protocol.ts";
import { rolloutGroups } from "../../src/rollouts/rollout.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { lettersChat } from "../../test/letters.ts";
import { writeTinyModel } from "../../test/tiny-model.ts";
import { createLocalEngine } from "./engine.ts";

const ask = defineTool({ name: "ask", description: "Asks.", parameters: z.object({ name: z.string() }), execute: () => "tut" });

test("on the real engine, what was sampled up to a stop string is scored as it was sampled", async () => {
  const folder = mkdtempSync(join(tmpdir(), "protocol-"));
  const letters = lettersChat();
  await writeTinyModel(folder);
  const engine = await createLocalEngine({ model: folder, threads: 1, decode: (tokens) => letters.tokenizer.decode(tokens) });
  try {
    const environment: Environment = {
      name: "letters",
      size: () => 1,
      task: () => ({ id: "t" }),
      start: () => ({
        messages: [{ role: "user", content: "abcab" }],
        tools: [ask],
        protocol: {
          actions: {
            stopStrings: ["a", "sc"],
            read: (text) => ({
              message: { role: "assistant", content: text },
              calls: /a|sc/.test(text) ? [{ name: "ask", arguments: { name: text } }] : [],
            }),
          },
          continuation: oneMessage(([{ content }]) => content, 60),
        },
        reply: () => ({ done: true }),
        score: () => ({ reward: 1 }),
      }),
    };
    const groups = { name: "s", groupSize: 16, concurrency: 16, seed: 3, maxTurns: 9, maxTokens: 50, episodeTimeoutMs: 1000 };
    const [{ trajectories }] = await rolloutGroups(engine, letters, environment, [{ id: "t" }], groups);
    const turns = trajectories.flatMap((trajectory) => trajectory.turns);
    expect(turns.filter(({ toolCalls }) => toolCalls === 1).length).toBeGreaterThan(5);
    expect(turns.some(({ action }) => letters.tokenizer.decode(action).endsWith("sc"))).toBe(true);
    for (const { action, toolCalls } of turns) if (toolCalls === 1) expect(letters.tokenizer.decode(action)).toMatch(/(a|sc)$/);
    for (const trajectory of trajectories)
      for (const [t, turn] of trajectory.turns.slice(1).entries()) {
        const { context, action } = trajectory.turns[t];
        expect(letters.tokenizer.decode(turn.context.slice())).toBe(`${letters.tokenizer.decode([...context, ...action])}tut`);
        expect(turn.context.slice(0, -3)).toEqual([...context, ...action]);
      }
    const scored = await engine.logprobs(turns, { temperature: 1 });
    // Sampler and scoring are different graphs over the same float32 parameters.
    for (const [i, { samplerLogprobs }] of turns.entries())
      for (const [j, logprob] of samplerLogprobs.entries()) expect(scored[i][j]).toBeCloseTo(logprob, 4);
  } finally {
    await engine.dispose();
    rmSync(folder, { recursive: true });
  }
});
