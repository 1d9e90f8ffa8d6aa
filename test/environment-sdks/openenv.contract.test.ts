import { expect } from "vitest";
import { serveOpenenv } from "../../extensions/remote/server/openenv.ts";
import { serveEnvironment } from "../../extensions/remote/server/serve-environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { counting } from "../environments/counting.ts";
import { call, killServer, opened, output, script, serve, withPackage } from "./packages.ts";
import { played } from "./played.ts";

withPackage(
  "openenv",
  "openenv 0.10: an environment of tools, its tasks, rewards, errors and an answer that is too large",
  async () => {
    const port = await serve("openenv", (at) => [script("openenv_worlds.py"), "echo", String(at)]);
    const environment = await opened(`openenv:ws://127.0.0.1:${port}`, { timeoutMs: 2000 });
    expect([environment.splits, await environment.size("train")]).toEqual([["train", "test"], 5]);
    const episode = await environment.start(await environment.task("test", 1), 0);
    expect(episode.messages).toEqual([{ role: "user", content: "Submit test-1." }]);
    expect(episode.tools.map(({ name }) => name)).toEqual(["echo", "add", "slow", "submit"]);
    expect(await call(episode, "echo", { message: "ä 😀" })).toMatchObject({ content: "ä 😀", done: false });
    expect(await call(episode, "add", { a: 1, b: 2 })).toMatchObject({ content: '{"sum":3.0}' });
    expect(await call(episode, "add", { a: "x" })).toMatchObject({ valid: false, failure: "invalid" });
    expect(await call(episode, "submit", { answer: "test-1" })).toMatchObject({ done: true });
    expect(await episode.score([])).toEqual({ reward: 1 });
    await episode.close?.();
    const late = await environment.start(await environment.task("train", 0), 0);
    await expect(call(late, "slow", { seconds: 4 })).rejects.toMatchObject({ problem: "timeout" });
    await late.close?.();
  },
);

withPackage("openenv", "openenv 0.10: an environment of typed actions, its seeds, faults, its capacity and its end", async () => {
  const port = await serve("openenv", (at) => [script("openenv_worlds.py"), "count", String(at), "2"]);
  const name = `openenv:ws://127.0.0.1:${port}`;
  const environment = await opened(name);
  const task = await environment.task("train", 0);
  const [one, two] = [await environment.start(task, 0), await environment.start(task, 0)];
  expect(one.messages).toEqual(two.messages);
  await expect(environment.start(task, 0)).rejects.toMatchObject({ problem: "capacity", message: expect.stringContaining("2") });
  const { count } = JSON.parse(one.messages[0].content) as { count: number };
  expect(await call(one, "step", { by: 1 })).toMatchObject({ content: `{"count":${count + 1},"goal":1000}`, done: false });
  expect(await call(one, "step", { by: "x" })).toMatchObject({ valid: false, content: expect.stringContaining("valid integer") });
  await expect(call(one, "step", { by: 0 })).rejects.toMatchObject({ problem: "refused" });
  expect(await call(one, "step", { by: 999 - count })).toMatchObject({ done: true });
  expect(await one.score([])).toEqual({ reward: 9 });
  await expect(call(two, "step", { by: -13 })).rejects.toMatchObject({ problem: "too-large" });
  await Promise.all([one.close?.(), two.close?.()]);
  const careless = await opened(name, { reset: { ignore_seed: true } });
  const start = async () => (await careless.start(await careless.task("train", 5), 0)).close?.();
  await expect
    .poll(
      () =>
        start().then(
          () => "",
          (error: Error) => error.message,
        ),
      { timeout: 60_000 },
    )
    .toMatch(/seems to ignore the seed/);
  killServer();
  const startAgain = async () => environment.start(task, 0);
  await expect
    .poll(() =>
      startAgain().then(
        () => "",
        (error: { readonly problem: string }) => error.problem,
      ),
    )
    .toBe("unreachable");
});

withPackage("openenv", "openenv 0.10's own clients play an environment of ours", async () => {
  const server = await serveOpenenv({
    ...{ environment: counting(), host: "127.0.0.1", port: 0, keys: [], sessions: 8, sessionMs: 60_000, maxBytes: 2 ** 20 },
    ...{ seed: 3, episodeTimeoutMs: 5000, maxTurns: 20 },
  });
  const said = await output("openenv", [script("openenv_client.py"), server.baseUrl]);
  await expect.poll(() => server.sessions()).toBe(0);
  await server.close();
  expect(said).toEqual({
    ...{ prompt: "Count.\n\nCount to 3.", task: "train/1", result: "The counter is 3.", reward: -0.1, error: "tool_not_found" },
    ...{ end: [true, 1], steps: 2, tools: ["add", "message_to_user"], called: "The counter is 2.", refused: true },
  });
});

withPackage("openenv", "openenv validate passes a served world", async () => {
  const environment = createEnvironment("office", {});
  const server = await serveEnvironment({ environment, as: "openenv", port: 0 });
  const said = await output("openenv", [script("openenv_validate.py"), server.baseUrl]);
  await server.close();
  expect(said).toEqual({ passed: true, failed: [], criteria: 6 });
  played({
    ...{ wire: "OpenEnv", package: "openenv 0.10.0", what: "`openenv validate --url` of the office" },
    ...{ episodes: 0, result: "PASS, 6 of 6 criteria", refused: "nothing" },
  });
});
