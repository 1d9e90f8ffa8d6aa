import "../research/install.ts";
import { execFile, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { appworldEnvironment } from "../research/appworld/appworld.ts";
import { serverProgram } from "../research/appworld/process.ts";
import { evalCommand } from "../src/cli/commands/eval.ts";
import type { Message } from "../src/core/messages.ts";
import type { Episode } from "../src/environments/environment.ts";
import { createScreen } from "../src/terminal/screen.ts";

/** A Python with AppWorld and its unpacked apps: the one that RETROGRADE_APPWORLD_PYTHON names (.ci/appworld makes one). */
const python = process.env.RETROGRADE_APPWORLD_PYTHON ?? "";
const found =
  python !== "" &&
  (await new Promise<boolean>((resolve) => {
    execFile(python, ["-c", "import appworld.apps.simple_note"], (error) => resolve(error === null));
  }));
const why = found ? "" : " — skipped: RETROGRADE_APPWORLD_PYTHON names no Python with AppWorld";

/** Synthetic worlds, made once for each version of their script: AppWorld's own data is not needed. */
function makeWorlds(): string {
  const script = fileURLToPath(new URL("appworld/make_worlds.py", import.meta.url));
  const digest = createHash("sha256").update(readFileSync(script)).digest("hex").slice(0, 12);
  const root = join(dirname(dirname(python)), `retrograde-worlds-${digest}`);
  if (!existsSync(join(root, "made"))) {
    execFileSync(python, [script, root], { stdio: "pipe" });
    writeFileSync(join(root, "made"), "");
  }
  return root;
}

const settings = { python, servers: 2, root: "", timeoutMs: 280_000 };
const world = { environment: appworldEnvironment({}) };
beforeAll(async () => {
  if (!found) return;
  settings.root = makeWorlds();
  world.environment = appworldEnvironment(settings);
  await world.environment.open?.();
});
afterAll(() => world.environment.close?.(), 30_000);

const call = async (episode: Episode, code: string) => {
  const answer = await episode.call?.({ name: "python", arguments: { code } }, { signal: new AbortController().signal });
  if (typeof answer !== "object") throw new Error("no answer");
  return answer;
};
const start = async (index: number, split = "train") => {
  const task = await world.environment.task(split, index);
  return { task, episode: await world.environment.start(task, 1) };
};

const login = [
  "accounts = {account['account_name']: account['password'] for account in apis.supervisor.show_account_passwords()}",
  "token = apis.simple_note.login(username='ada.test@example.com', password=accounts['simple_note'])['access_token']",
].join("\n");
const countNotes = `${login}\nprint(len(apis.simple_note.search_notes(access_token=token)))`;
const create = (title: string) => `apis.simple_note.create_note(access_token=token, title='${title}', content='-')`;

test.skipIf(!found)(
  `AppWorld's own server: variables stay, errors are read, completion ends, the tests are scored${why}`,
  async () => {
    expect(world.environment.splits).toEqual(["train", "dev"]);
    expect(await world.environment.size("dev")).toBe(6);
    const { task, episode } = await start(0);
    expect(task).toMatchObject({ id: "aaa1111_1", scenario: "aaa1111", kind: "difficulty 1" });
    expect(episode.messages[0].content).toContain("My name is Ada Test. My email is ada.test@example.com");
    expect(await call(episode, countNotes)).toEqual({ content: "3\n", valid: true, done: false });
    expect(await call(episode, "print(len(accounts))")).toMatchObject({ content: "1\n" });
    expect(await call(episode, "print(1/0)")).toMatchObject({
      valid: false,
      content: expect.stringContaining("ZeroDivisionError"),
    });
    expect(await call(episode, "import os\nos.system('true')")).toMatchObject({
      content: expect.stringContaining("not allowed"),
    });
    expect(await episode.score([])).toEqual({ reward: 0.5, scores: { success: 0, tests: 0.5 } });
    expect(await call(episode, "apis.supervisor.complete_task(answer=3)")).toMatchObject({ done: true });
    expect(await episode.score([])).toEqual({ reward: 1, scores: { success: 1, tests: 1 } });
    await episode.close?.();
  },
  300_000,
);

test.skipIf(!found)(
  `a copy repeats the cells in a world of its own, and the two go apart${why}`,
  async () => {
    const { episode } = await start(3);
    await call(episode, login);
    const copy = await episode.clone?.();
    if (copy === undefined) throw new Error("no copy");
    await call(episode, `${create("Shopping 1")}\n${create("Another")}`);
    await call(copy, create("Shopping 1"));
    // The first has created two notes, and at most one may be new.
    expect((await episode.score([])).scores).toEqual({ success: 0, tests: 0.5 });
    expect((await copy.score([])).scores).toEqual({ success: 1, tests: 1 });
    await episode.close?.();
    await copy.close?.();
  },
  300_000,
);

test.skipIf(!found)(
  `a server that is killed is replaced, and its cells repeated${why}`,
  async () => {
    const { episode } = await start(4);
    await call(episode, login);
    for (const pid of serversOf(process.pid)) process.kill(pid, "SIGKILL");
    expect(await call(episode, `${create("Shopping 2")}\nprint('made')`)).toMatchObject({ content: "made\n" });
    expect(await episode.score([])).toEqual({ reward: 1, scores: { success: 1, tests: 1 } });
    await episode.close?.();
  },
  300_000,
);

test.skipIf(!found)(
  `a server ends with the process that started it, even where that is killed${why}`,
  async () => {
    const parent = spawn(process.execPath, [
      ...[
        "-e",
        `const { PATH } = process.env; const child = require("node:child_process").spawn(process.argv[1], ["-u", "-c", process.argv[2], "0", "token"],
        { stdio: ["pipe", "ignore", "ignore"], detached: true, env: { PATH, APPWORLD_ROOT: process.argv[3] } }); console.log(child.pid); setInterval(() => {}, 1000);`,
      ],
      ...[python, serverProgram, settings.root],
    ]);
    const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (text) => resolve(Number(text))));
    expect(isRunning(pid)).toBe(true);
    parent.kill("SIGKILL");
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), 60_000);
  },
  60_000,
);

/** A process that has ended and that nobody has waited for does not run. */
function isRunning(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.[0] !== "Z";
  } catch {
    return false;
  }
}

/** Processes that a process has started. */
function serversOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(parent);
      } catch {
        return false;
      }
    })
    .map(Number);
}

test.skipIf(!found)(
  `eval with a chat endpoint: task and scenario goal completion, and no server is left behind${why}`,
  async () => {
    /** Knows how both kinds of task are done, and forgets to complete the last one. */
    const model = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const { messages }: { messages: Message[] } = JSON.parse(body);
      const question = messages[1].content;
      const title = /titled "(.*)"/.exec(question)?.[1];
      const act = title === undefined ? countNotes : create(title === "Shopping 3" ? "Nothing" : title);
      const code =
        messages.length === 2 ? `${login}\n${act}` : `apis.supervisor.complete_task(${title === undefined ? "answer=3" : ""})`;
      const content = `I go on.\n\`\`\`python\n${code}\n\`\`\``;
      response.end(JSON.stringify({ choices: [{ message: { content } }], usage: { prompt_tokens: 100, completion_tokens: 10 } }));
    });
    await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
    const address = model.address();
    const out = join(mkdtempSync(join(tmpdir(), "retrograde-appworld-")), "measured");
    const text = { out: "" };
    const output = createScreen({ write: (part: string) => (text.out += part) });
    const before = serversOf(process.pid).length;
    const set = Object.entries(settings).map(([name, value]) => `environment.settings.${name}=${value}`);
    const flags = {
      ...{
        env: "appworld",
        split: "dev",
        endpoint: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`,
        model: "m",
      },
      ...{ k: "1", temperature: "0", out, json: true, set: [...set, "rollout.episodeTimeoutMs=300000"] },
    };
    expect(await evalCommand(flags, output, createScreen({ write: () => true }))).toBe(0);
    model.close();
    const [record] = JSON.parse(text.out).evaluations;
    expect(record).toMatchObject({ tasks: 6, mean: 5 / 6, toolCalls: 12, stopReasons: { done: 6 } });
    expect(record.scenarios).toMatchObject({ count: 2, mean: 0.5, any: 0.5, all: 0.5 });
    expect(record.byKind).toMatchObject([
      { name: "difficulty 1", success: 1 },
      { name: "difficulty 2", success: 2 / 3 },
    ]);
    expect(readFileSync(join(out, "report.txt"), "utf8")).toMatch(/scenarios 50\.0 %/);
    expect(serversOf(process.pid)).toHaveLength(before);
  },
  300_000,
);
