import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { ConfigError, EnvError } from "../../src/core/errors.ts";
import type { Environment, Episode } from "../../src/environments/environment.ts";
import { appworldEnvironment } from "./appworld.ts";
import type { AppworldTask } from "./data.ts";
import { isDegenerate, scoreOf } from "./reward.ts";
import { brokenPython, stubPython, stubRoot } from "./stub-server.fixture.ts";

let environment: Environment<AppworldTask> | undefined;
afterEach(async () => {
  await environment?.close?.();
  environment = undefined;
});

const python = stubPython();
const root = stubRoot();
function opened(change: object = {}): Environment<AppworldTask> {
  environment = appworldEnvironment({ python, root, servers: 2, timeoutMs: 5000, ...change });
  return environment;
}
const start = async (world: Environment<AppworldTask>, index = 0): Promise<Episode> =>
  world.start(await world.task("train", index), 1);
const call = async (episode: Episode, code: string, signal = new AbortController().signal) => {
  const answer = await episode.call?.({ name: "python", arguments: { code } }, { signal });
  return typeof answer === "object" ? answer.content : answer;
};

test("tasks, scenarios and difficulties come from the data folder, whatever its splits are called", async () => {
  const world = opened();
  expect(world.splits).toEqual(["train", "own"]);
  expect([await world.size("train"), await world.size("own")]).toEqual([2, 1]);
  expect(await world.task("train", 1)).toMatchObject({ id: "abc1234_2", scenario: "abc1234", kind: "difficulty 2" });
  expect(world.concurrency).toBe(2);
});

test("the prompt: three calls, one example, eight instructions, the supervisor, and the documents if they are asked for", async () => {
  const { messages, tools, protocol, limits } = await start(opened({ maxInteractions: 7 }));
  const [{ content }, question] = messages;
  expect(question).toEqual({ role: "user", content: "Do abc1234_1." });
  for (const text of [
    "show_app_descriptions()",
    "show_api_descriptions(",
    "show_api_doc(",
    "complete_task(answer=7)",
    '["spotify"]',
  ])
    expect(content).toContain(text);
  expect(content.match(/^\d\. /gm)).toHaveLength(8);
  expect(content.match(/^USER:|^ASSISTANT:/gm)).toHaveLength(10);
  expect(content.endsWith("My name is Ada Test. My email is ada@example.com and my phone number is 1.")).toBe(true);
  expect(content).not.toContain("login: Log in.");
  expect((await start(opened({ apiDocs: "listed" }))).messages[0].content).toContain("spotify:\n  login: Log in.");
  expect(limits).toEqual({ turns: 7 });
  expect(tools.map(({ name }) => name)).toEqual(["python"]);
  const read = protocol?.actions.read("I look.\n```python\nprint(1)\n```\n```python\nprint(2)\n```", []);
  expect(read?.calls).toEqual([{ name: "python", arguments: { code: "print(1)" } }]);
  const shown =
    protocol?.continuation.kind === "new-messages"
      ? protocol.continuation.show([{ role: "tool", name: "python", content: "1\n" }])
      : [];
  expect(shown).toEqual([{ role: "user", content: "Output:\n```\n1\n```\n\n" }]);
});

test("episodes of one task have a world each; a message without code gets a word; done ends", async () => {
  const world = opened();
  const [first, second] = [await start(world), await start(world)];
  await call(first, "+1");
  await call(first, "+1");
  await call(second, "+1");
  expect([await call(first, "show"), await call(second, "show")]).toEqual(["2\n", "1\n"]);
  expect(await first.reply({ role: "assistant", content: "Hm." })).toEqual({
    done: false,
    messages: [{ role: "user", content: "[No content provided by the environment]" }],
  });
  expect([await first.score([]), await second.score([])]).toEqual([
    { reward: 1, scores: { success: 1, tests: 1 } },
    { reward: 0.5, scores: { success: 0, tests: 0.5 } },
  ]);
  expect(
    await first.call?.({ name: "python", arguments: { code: "done" } }, { signal: new AbortController().signal }),
  ).toMatchObject({ done: true });
});

test("a copy takes a server only when it is used, repeats the cells, and refuses where they answer otherwise", async () => {
  const world = opened({ servers: 1 });
  const episode = await start(world);
  await call(episode, "+1");
  const [copy, other] = [await episode.clone?.(), await episode.clone?.()];
  await call(episode, "+1");
  expect(await episode.score([])).toMatchObject({ reward: 1 });
  const waiting = copy && call(copy, "show");
  await episode.close?.(); // the one server is free from now on
  expect(await waiting).toBe("1\n");
  await copy?.close?.();
  await other?.close?.();
  const drawn = await start(world);
  await call(drawn, "random");
  const again = await drawn.clone?.();
  await drawn.close?.();
  await expect(again && call(again, "show")).rejects.toThrow(/cell 1 of abc1234_1, repeated.*cannot be repeated/);
});

test("a server that dies is replaced once, with its cells repeated; one that dies again ends the episode with its exit", async () => {
  const world = opened({ servers: 1 });
  const episode = await start(world);
  await call(episode, "+1");
  const before = Number(await call(episode, "pid"));
  process.kill(before, "SIGKILL");
  // The cell that printed the process's number cannot be repeated.
  await expect(call(episode, "show")).rejects.toThrow(/cell 2/);
  await episode.close?.();
  const second = await start(world);
  await call(second, "+1");
  const copy = await second.clone?.();
  await expect(call(second, "die")).rejects.toThrow(EnvError);
  await second.close?.();
  expect(copy && (await call(copy, "show"))).toBe("1\n");
  await copy?.close?.();
});

test.each([
  ["hang", /no answer within 300 ms/],
  ["flood", /more than 16777216 bytes/],
  ["nonsense", /answered what AppWorld does not: <html>/],
  ["fail", /answered 500 Internal Server Error \(ValueError: the clock is stopped\)/],
] as const)("a server that answers with %s fails its episode with the reason", async (accident, message) => {
  const world = opened({ servers: 1, timeoutMs: accident === "hang" ? 300 : 5000 });
  await world.open?.();
  const episode = await start(world);
  await expect(call(episode, accident)).rejects.toThrow(message);
  await episode.close?.();
});

test("after an accident the next episode has a fresh world", async () => {
  const world = opened({ servers: 1 });
  const broken = await start(world);
  const pid = await call(broken, "pid");
  await expect(call(broken, "nonsense")).rejects.toThrow(EnvError);
  await broken.close?.();
  const next = await start(world);
  expect(await call(next, "pid")).not.toBe(pid);
  expect(await call(next, "show")).toBe("0\n");
});

test("a cell that nobody waits for any more leaves its server to nobody", async () => {
  const world = opened({ servers: 1 });
  const episode = await start(world);
  await call(episode, "+1");
  await expect(call(episode, "hang", AbortSignal.timeout(50))).rejects.toThrow(/timeout/);
  await episode.close?.();
  expect(await call(await start(world), "show")).toBe("0\n");
});

test("servers see no keys of this process, and none is left after close", async () => {
  vi.stubEnv("OPENAI_API_KEY", "sk-secret");
  const world = opened({ servers: 1 });
  const episode = await start(world);
  expect(await call(episode, "env")).not.toContain("OPENAI_API_KEY");
  const pid = Number(await call(episode, "pid"));
  await world.close?.();
  expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
  await expect(start(world).then((late) => call(late, "show"))).rejects.toThrow(/closed/);
  vi.unstubAllEnvs();
});

test("what is missing is said before an episode begins", async () => {
  await expect(opened({ python: brokenPython() }).open?.()).rejects.toThrow(
    /exit code 1: ModuleNotFoundError: No module named 'appworld'.*npm run research -- doctor --env appworld/,
  );
  await expect(opened({ python: "/nowhere/python" }).open?.()).rejects.toThrow(/ENOENT/);
  const empty = mkdtempSync(join(tmpdir(), "appworld-empty-"));
  expect(() => opened({ root: empty }).open?.()).toThrow(ConfigError);
  expect(() => opened({ root: empty }).size("train")).toThrow(/data.base_dbs.*appworld download data --root/s);
  expect(opened({ root: empty }).splits).toEqual(["train", "dev", "test_normal", "test_challenge"]);
  const own = stubRoot();
  rmSync(join(own, "data/tasks/abc1234_1/specs.json"));
  expect(() => opened({ root: own }).task("train", 0)).toThrow(/specs.json/);
  writeFileSync(join(own, "data/datasets/train.txt"), "nonsense\n");
  expect(() => opened({ root: own }).size("train")).toThrow(/ids of tasks, such as 82e2fac_1/);
});

test("a port at which something else answers is refused, and so are addresses without AppWorld", async () => {
  const other = createServer((_, response) => response.end('{"message": "Welcome to AppWorld Server!"}'));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await expect(opened({ port }).open?.()).rejects.toThrow(/Another server answers there/);
  await opened({ urls: [`http://127.0.0.1:${port}`] }).open?.(); // somebody else's AppWorld is used where it is asked for
  expect(environment?.concurrency).toBe(1);
  other.close();
  await expect(opened({ urls: ["http://127.0.0.1:1"], timeoutMs: 500 }).open?.()).rejects.toThrow(
    /a running `appworld serve environment`/,
  );
  expect(() => opened({ urls: ["http://127.0.0.1:1"], port: 3 })).toThrow(/environment.settings.port/);
});

test("doctor: each thing that is missing, with the command that gets it", async () => {
  const missing = await opened({ python: brokenPython(), root: mkdtempSync(join(tmpdir(), "appworld-empty-")) }).diagnose?.();
  expect(missing).toMatchObject([
    { name: "AppWorld package", state: "bad", advice: expect.stringMatching(/pip install appworld==.* && .*appworld install/) },
    { name: "AppWorld data", state: "bad", advice: expect.stringMatching(/appworld download data --root/) },
    { name: "AppWorld server", state: "doubtful" },
  ]);
  const served = createServer((_, response) => response.end('{"message": "Welcome to AppWorld Server!"}'));
  await new Promise<void>((resolve) => served.listen(0, "127.0.0.1", resolve));
  const address = served.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  expect(await opened({ urls: [url] }).diagnose?.()).toMatchObject([
    { name: "AppWorld data", state: "good", text: `${root}: train 2, own 1 tasks` },
    { name: "AppWorld server", state: "good", text: "1 answer" },
  ]);
  served.close();
});

test("rewards: the share of tests, all or nothing, and SeeUPO's with its penalty", () => {
  const verdict = (passed: number) => ({ success: passed === 4, num_tests: 4, passes: Array(passed).fill({}), failures: [] });
  const rewards = (kind: "dense" | "sparse" | "seeupo", text = "Fine.") =>
    [0, 2, 4].map((passed) => scoreOf(verdict(passed), [{ role: "assistant", content: text }], kind).reward);
  expect(rewards("dense")).toEqual([0, 0.5, 1]);
  expect(rewards("sparse")).toEqual([0, 0, 1]);
  expect(rewards("seeupo")).toEqual([0, 0.25, 1.5]);
  expect(rewards("seeupo", "so on and so on and so on and so on and so on")).toEqual([-1, -1, -1]);
});

test("texts that go round in circles are found, and others are not", () => {
  expect(isDegenerate("a plain answer <|im_start|>user")).toBe(true);
  expect(isDegenerate("no ".repeat(11))).toBe(true);
  expect(isDegenerate("ab".repeat(101))).toBe(true);
  expect(isDegenerate("The notes are three, and the three notes are here.")).toBe(false);
  expect(isDegenerate(`for note in notes:\n    print(note['title'])\n${"-".repeat(80)}`)).toBe(false);
});
