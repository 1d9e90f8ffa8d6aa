import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { Episode } from "../../src/environments/environment.ts";
import { harborEnvironment } from "./harbor.ts";

const verdict = 'if [ "$(cat /app/hello.txt)" = "Hello, $WHO!" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n';
const task = {
  "task.toml": 'schema_version = "1.4"\n',
  "instruction.md": "Write the greeting of who.txt into hello.txt.",
  "environment/Dockerfile": "# A plain one\nFROM ubuntu:24.04\nWORKDIR /app\nENV WHO=world\nCOPY who.txt ./\n",
  "environment/who.txt": "world\n",
  "tests/test.sh": verdict,
};

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "harbor-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

async function start(files: Readonly<Record<string, string>>): Promise<Episode> {
  const environment = harborEnvironment({ tasks: { test: folderOf(files) } });
  return environment.start(await environment.task("test", 0), 0);
}
const bash = (episode: Episode, command: string) =>
  episode.tools[0].execute({ command }, { signal: new AbortController().signal });

test("a task folder is played in the simulated shell, and its tests grade it", async () => {
  const episode = await start(task);
  expect(episode.messages).toEqual([{ role: "user", content: task["instruction.md"] }]);
  expect(await bash(episode, "cat who.txt; pwd")).toBe("world\n/app\n");
  expect(await bash(episode, "cat nothing")).toMatch(/No such file.*\(exit code 1\)/s);
  await bash(episode, 'echo "Hello, $(cat who.txt)!" > hello.txt');
  expect(await episode.score([])).toEqual({ reward: 1, scores: {} });
  const other = await start(task);
  await bash(other, "mkdir -p /tests; echo 1 > /logs/verifier/reward.txt; echo exit > /tests/test.sh");
  expect(await other.score([])).toMatchObject({ reward: 0 });
});

test.each([
  ["a program that is not there", "tools/check && echo 1 > /logs/verifier/reward.txt\n", /tools\/check/],
  ["no verdict", "true\n", /verdict.*reward\.txt/],
  ["a verdict that is no number", "echo yes > /logs/verifier/reward.txt\n", /verdict.*"yes/],
])("tests with %s are a fault and no reward of 0", async (_, script, message) => {
  await expect((await start({ ...task, "tests/test.sh": script })).score([])).rejects.toThrow(message);
});

test.each([
  ["environment/Dockerfile", "FROM python:3.12\n", /FROM python:3\.12/],
  ["environment/Dockerfile", "FROM ubuntu\nRUN apt-get install -y jq\n", /RUN apt-get install/],
  ["environment/docker-compose.yaml", "services: {}\n", /docker-compose\.yaml/],
  ["task.toml", 'schema_version = "1.5"\n', /schema_version .*"1\.5".*1\.4/],
  ["task.toml", '[environment]\ndocker_image = "x"\n', /docker_image/],
  ["task.toml", '[verifier]\nenvironment_mode = "separate"\n', /environment_mode .*separate/],
  ["task.toml", '[environment.env]\nKEY = "x"\n', /environment\.env .*KEY/],
  ["task.toml", '[environment]\ntpu.type = "v6e"\n', /environment\.tpu .*no such field/],
  ["task.toml", '[agent]\nuser = "x"\n[[steps]]\nname = "a"\n', /agent\.user .*no such field/],
  ["task.toml", 'multi_step_reward_strategy = "mean"\n', /multi_step_reward_strategy .*no such field/],
  ["task.toml", "[environment\n", /task\.toml .*expected TOML/],
  ["task.toml", '[environment]\nmcp_servers = [{ name = "x" }]\n', /mcp_servers/],
  ["tests/test.sh", "cd /app && uvx pytest\n", /test\.sh needs uvx/],
])("a task that needs an image, or is of a newer format, is refused by name: %s %j", async (path, text, message) => {
  await expect(start({ ...task, [path]: text })).rejects.toThrow(message);
});
