import { expect } from "vitest";
import { serveOrs } from "../../extensions/remote/server/ors.ts";
import { counting } from "../environments/counting.ts";
import { call, opened, output, script, serve, withPackage } from "./packages.ts";

withPackage("ors", "ors-sdk 0.1: sessions, tasks, tools, rewards, errors", async () => {
  const port = await serve("ors", (at) => [script("ors_worlds.py"), String(at)]);
  const environment = await opened(`ors:http://127.0.0.1:${port}`);
  expect([environment.splits, await environment.size("hard")]).toEqual([["train", "test", "hard"], 1]);
  const episode = await environment.start(await environment.task("train", 3), 0);
  expect(episode.messages).toEqual([{ role: "user", content: "Say train-3." }]);
  expect(await call(episode, "say", { text: "ä 😀" })).toMatchObject({ content: "ä 😀", done: false });
  expect(await call(episode, "add", { a: "x" })).toMatchObject({
    valid: false,
    content: expect.stringContaining("valid number"),
  });
  expect(await call(episode, "spaces", {})).toMatchObject({ content: "a   b\n".repeat(3000) });
  await expect(call(episode, "fail", {})).rejects.toMatchObject({ problem: "refused", value: "broken tool" });
  expect(await call(episode, "say", { text: "train-3" })).toMatchObject({ done: true });
  expect(await episode.score([])).toEqual({ reward: 0.75 });
  await episode.close?.();
  await expect(call(episode, "say", { text: "x" })).rejects.toMatchObject({ problem: "expired" });
  const other = await environment.start(await environment.task("train", 3), 0);
  await expect(call(other, "divide", {})).rejects.toThrow(/reward of the answer that ends.*ors-sdk 0\.1.*NaN/s);
  await other.close?.();
});

withPackage("ors", "ors-sdk 0.1's own client plays an environment of ours", async () => {
  const server = await serveOrs({
    ...{ environment: counting(), host: "127.0.0.1", port: 0, keys: [], sessions: 8, sessionMs: 60_000, maxBytes: 2 ** 20 },
    ...{ seed: 3, episodeTimeoutMs: 5000, maxTurns: 20 },
  });
  const said = await output("ors", [script("ors_client.py"), server.baseUrl]);
  await server.close();
  expect(said).toEqual({
    ...{
      splits: ["train", "hard"],
      tasks: 3,
      task: { id: "train/1", split: "train", index: 1 },
      prompt: ["Count.", "Count to 3."],
    },
    ...{ tools: ["add", "message_to_user"], first: ["The counter is 3.", -0.1, false], refused: true, end: [true, 0] },
    wide: ` ${"wide  \n".repeat(2500)}`,
  });
});
