import "../extensions/install.ts";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { serveOpenenv } from "../extensions/remote/server/openenv.ts";
import { serveOrs } from "../extensions/remote/server/ors.ts";
import { serveEnvironment } from "../extensions/remote/server/serve-environment.ts";
import { type CallAnswer, type Environment, type Episode, splitsOf } from "../src/environments/environment.ts";
import { createEnvironment } from "../src/environments/registry.ts";
import { rollout } from "../src/rollouts/rollout.ts";
import { openModel } from "../src/sdk/model.ts";
import { resolveConfig } from "../src/training/config.ts";
import { counting } from "./environments/counting.ts";
import { expertPlans } from "./environments/expert-plans.ts";

/**
 * The packages of other people's environments, each in a virtual environment of its own: those in the folder that
 * RETROGRADE_ENVIRONMENT_SDKS names (.ci/environment-sdks makes them).
 */
const folder = process.env.RETROGRADE_ENVIRONMENT_SDKS ?? "";
const pythonOf = (name: string) => join(folder, name, "bin", "python");

/** Tasks of each split that experts play; 400 is all that an evaluation uses. */
const expertTasks = Number(process.env.RETROGRADE_EXPERT_TASKS ?? 10);

/** A test that needs a package; without it the test is skipped and says so. */
function withPackage(name: "openenv" | "ors" | "verifiers" | "nemo-gym", what: string, run: () => Promise<void>): void {
  const found = folder !== "" && existsSync(pythonOf(name));
  const why = found ? "" : ` — skipped: no Python with the package ${name} (RETROGRADE_ENVIRONMENT_SDKS)`;
  test.skipIf(!found)(`${what}${why}`, run, 240_000);
}

const script = (name: string) => fileURLToPath(new URL(`environments/${name}`, import.meta.url));
const processes: ChildProcess[] = [];
const environments: Environment[] = [];
afterEach(async () => {
  for (const environment of environments.splice(0)) await environment.close?.();
  for (const process of processes.splice(0)) process.kill("SIGKILL");
});

/** Starts a server and waits for its port. @returns the port */
async function serve(name: Parameters<typeof withPackage>[0], args: (port: number) => readonly string[]): Promise<number> {
  const probe = createServer();
  const port = await new Promise<number>((resolve) =>
    probe.listen(0, "127.0.0.1", () => resolve((probe.address() as { port: number }).port)),
  );
  await new Promise((resolve) => probe.close(resolve));
  const path = `${join(folder, name, "bin")}:${process.env.PATH}`;
  const child = spawn(pythonOf(name), args(port), { env: { ...process.env, PATH: path }, stdio: ["ignore", "ignore", "pipe"] });
  processes.push(child);
  let errors = "";
  child.stderr.on("data", (part) => {
    errors = `${errors}${part}`.slice(-3000);
  });
  const { connect } = await import("node:net");
  for (let tries = 0; tries < 900; tries++) {
    if (child.exitCode !== null) throw new Error(errors);
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
    if (isUp) return port;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${name} did not start: ${errors}`);
}

async function opened(name: string, settings: object = {}): Promise<Environment> {
  const environment = createEnvironment(name, settings);
  await environment.open?.();
  environments.push(environment);
  return environment;
}

const { signal } = new AbortController();
const call = (episode: Episode, name: string, args: object) =>
  episode.call?.({ name, arguments: args as Record<string, unknown> }, { signal }) as Promise<CallAnswer | undefined>;

const output = (python: string, args: readonly string[]) =>
  new Promise<Record<string, unknown>>((resolve, reject) => {
    execFile(python, args, { timeout: 120_000 }, (error, out, errors) =>
      error === null
        ? resolve(JSON.parse(out.trim().split("\n").at(-1) ?? ""))
        : reject(new Error(`${errors.slice(-2000)}\n${out}`)),
    );
  });

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
      { timeout: 5000 },
    )
    .toMatch(/seems to ignore the seed/);
  processes.at(-1)?.kill("SIGKILL");
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
  const said = await output(pythonOf("openenv"), [script("openenv_client.py"), server.baseUrl]);
  await expect.poll(() => server.sessions()).toBe(0);
  await server.close();
  expect(said).toEqual({
    ...{ prompt: "Count.\n\nCount to 3.", task: "train/1", result: "The counter is 3.", reward: -0.1, error: "tool_not_found" },
    ...{ end: [true, 1], steps: 2, tools: ["add", "message_to_user"], called: "The counter is 2.", refused: true },
  });
});

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
});

withPackage("ors", "ors-sdk 0.1's own client plays an environment of ours", async () => {
  const server = await serveOrs({
    ...{ environment: counting(), host: "127.0.0.1", port: 0, keys: [], sessions: 8, sessionMs: 60_000, maxBytes: 2 ** 20 },
    ...{ seed: 3, episodeTimeoutMs: 5000, maxTurns: 20 },
  });
  const said = await output(pythonOf("ors"), [script("ors_client.py"), server.baseUrl]);
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

for (const world of ["office", "office-classic", "knowledge"])
  for (const [as, client] of [
    ["openenv", "openenv_experts.py"],
    ["ors", "ors_experts.py"],
  ] as const)
    withPackage(as, `${world}'s expert solves every task through the client of ${as}`, async () => {
      const environment = createEnvironment(world, {});
      const plans = await expertPlans(environment, expertTasks, splitsOf(environment));
      const server = await serveEnvironment({ environment, as, port: 0 });
      const said = await output(pythonOf(as), [script(client), server.baseUrl, plans, world]);
      await server.close();
      expect(said).toMatchObject({ right: said.episodes, wrong: [] });
      expect(said.episodes).toBeGreaterThanOrEqual(expertTasks);
    });

withPackage(
  "verifiers",
  "verifiers 0.4: its environment server samples the bundled model here, and what it saw is the trajectory",
  async () => {
    const tasks = join(mkdtempSync(join(tmpdir(), "verifiers-")), "tasks.jsonl");
    const port = await serve("verifiers", (at) => [script("verifiers_world.py"), `tcp://127.0.0.1:${at}`, tasks]);
    const model = fileURLToPath(new URL("../models/office", import.meta.url));
    const { engine, chat } = await openModel(model, resolveConfig({}).engine, {
      use: { training: false, length: 512, concurrency: 4 },
      seed: 1,
    });
    const environment = await opened(`verifiers:tcp://127.0.0.1:${port}`, {
      ...{ tasks: { test: tasks }, tokenizer: model, renderer: "default", rolloutTimeoutMs: 200_000 },
    });
    const options = { id: "r/0", group: "r", seed: 1, maxTurns: 4, maxTokens: 20, episodeTimeoutMs: 1000 };
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

withPackage("nemo-gym", "nemo-gym 0.4: a published resource server with a session, tools and a verdict", async () => {
  const port = await serve("nemo-gym", (at) => [script("nemo_gym_server.py"), "example_session_state_mgmt", String(at)]);
  const python = pythonOf("nemo-gym");
  const found = await output(python, [
    "-c",
    "import json, resources_servers.example_session_state_mgmt as m; print(json.dumps({'at': m.__path__[0]}))",
  ]);
  const environment = await opened(`nemo-gym:http://127.0.0.1:${port}`, {
    tasks: { train: join(String(found.at), "data/example.jsonl") },
  });
  const play = async (count: number) => {
    const episode = await environment.start(await environment.task("train", 0), 0);
    await call(episode, "increment_counter", { count });
    const { content } = (await call(episode, "get_counter_value", {})) ?? { content: "" };
    const { reward } = await episode.score([...episode.messages, { role: "assistant", content }]);
    return [content, reward];
  };
  expect(await play(3)).toEqual(['{"count":6}', 1]);
  expect(await play(4)).toEqual(['{"count":7}', 0]);
});
