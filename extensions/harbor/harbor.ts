import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import { settingsDoor } from "../../src/core/door.ts";
import { ConfigError, EnvError } from "../../src/core/errors.ts";
import { parseSettings } from "../../src/core/settings.ts";
import { longestTimer } from "../../src/core/timer.ts";
import type { Environment, Episode, Score } from "../../src/environments/environment.ts";
import { cut } from "../../src/tools/cut.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { filesOf, type HarborTask, readTasks } from "./task.ts";

export const harborSettingsSchema = settingsDoor("settings of Harbor", {
  /** A folder of Harbor tasks, or one task's, for each split. */
  tasks: z.record(z.string(), acts.reads(z.string().min(1))),
  /** Longest run of one command, and of the tests, in milliseconds. */
  timeoutMs: z.int().min(1).max(longestTimer).default(60_000),
  /** Characters of a command's output that the model reads. */
  maxOutput: z.int().min(1).default(20_000),
  system: z.string().optional(),
});
type Settings = z.output<typeof harborSettingsSchema>;

/**
 * Harbor tasks that need no image, in this process: the model acts by commands of a simulated shell with files in memory (the npm package
 * `just-bash`), and `tests/test.sh` grades at the end. Those that need an image are refused by name.
 * @throws ConfigError for wrong settings, and for a task that needs an image
 */
export function harborEnvironment(userSettings: unknown): Environment<HarborTask> {
  const settings = parseSettings(harborSettingsSchema, userSettings, "environment.settings");
  const tasks = new Map(
    Object.entries(settings.tasks).map(([split, folder]) => [split, readTasks(folder, `environment.settings.tasks.${split}`)]),
  );
  return {
    name: "harbor",
    replayable: true,
    splits: [...tasks.keys()],
    size: (split) => tasks.get(split)?.length ?? 0,
    task: (split, index) => {
      const task = tasks.get(split)?.[index];
      if (task === undefined) throw new EnvError(`task ${index} of the ${split} split`, "missing", { expected: "a folder" });
      return task;
    },
    start: (task) => startEpisode(task, settings),
  };
}

async function startEpisode(task: HarborTask, { timeoutMs, maxOutput, system }: Settings): Promise<Episode> {
  const { Bash } = await import("just-bash").catch((cause: unknown) => {
    throw new ConfigError("environment.name", "harbor", {
      expected: "the npm package just-bash, in whose simulated shell the tasks run",
      hint: "npm install just-bash",
      cause,
    });
  });
  const files = Object.fromEntries(Object.entries(task.files).map(([path, at]) => [path, new Uint8Array(readFileSync(at))]));
  const shell = new Bash({ files, cwd: task.workdir, env: { HOME: "/root", ...task.variables } });
  const run = (command: string, signal?: AbortSignal) => {
    const limit = AbortSignal.timeout(timeoutMs);
    return shell.exec(command, { signal: signal === undefined ? limit : AbortSignal.any([signal, limit]) });
  };
  await run(`mkdir -p ${task.workdir} /logs/verifier /logs/agent /root`);
  const bash = defineTool({
    name: "bash",
    description: "Runs a command in the shell. Files stay between commands; variables and the working directory do not.",
    parameters: z.object({ command: z.string() }),
    replayable: true,
    timeoutMs,
    execute: async ({ command }, { signal }) => {
      const { stdout, stderr, exitCode } = await run(command, signal);
      const output = [stdout, stderr].filter((text) => text !== "").join("\n");
      return cut(exitCode === 0 ? output : `${output}\n(exit code ${exitCode})`, maxOutput);
    },
  });
  return {
    messages: [
      ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
      { role: "user", content: task.instruction },
    ],
    tools: [bash],
    reply: () => ({ done: true }),
    score: () => grade(task, shell, run),
  };
}

type Shell = InstanceType<typeof import("just-bash").Bash>;

/** Runs the tests. What the model left where the tests and their verdict belong does not count. @throws EnvError if they give no verdict */
async function grade(
  task: HarborTask,
  { fs }: Shell,
  run: (command: string) => Promise<{ readonly stdout: string; readonly stderr: string }>,
): Promise<Score> {
  await run("rm -rf /tests /logs/verifier; mkdir -p /tests /logs/verifier");
  for (const [path, at] of filesOf(`${task.folder}/tests`)) {
    await fs.mkdir(posix.dirname(`/tests/${path}`), { recursive: true });
    await fs.writeFile(`/tests/${path}`, new Uint8Array(readFileSync(at)));
  }
  const { stdout, stderr } = await run("bash /tests/test.sh");
  const unknown = /(\S+): command not found/.exec(stderr + stdout);
  const fault = (value: unknown, expected: string) =>
    new EnvError(`the verdict of the Harbor task ${task.folder}`, value, { expected });
  if (unknown !== null) throw fault(`${unknown[1]} was not found`, "tests that run in the simulated shell");
  const read = async (path: string) => ((await fs.exists(path)) ? await fs.readFile(path) : undefined);
  const [plain, named] = [await read("/logs/verifier/reward.txt"), await read("/logs/verifier/reward.json")];
  const scores =
    named === undefined
      ? { reward: Number(plain?.trim() === "" ? undefined : plain) }
      : (JSON.parse(named) as Record<string, number>);
  const { reward = Number.NaN, ...others } = scores;
  if (!Number.isFinite(reward))
    throw fault(plain ?? named, `a number in /logs/verifier/reward.txt. The tests said: ${cut(stderr || stdout, 300)}`);
  return { reward, scores: others };
}
