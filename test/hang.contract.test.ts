import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { readMessages } from "../src/runs/live.ts";
import { readTrajectories } from "../src/runs/read.ts";
import { type Hanging, hangingRun } from "./hang-process.ts";
import { slowdown } from "./slowdown.ts";
import { writeTinyModel } from "./tiny-model.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-hang-"));
const model = join(root, "model");
beforeAll(() => writeTinyModel(model));

interface Ended {
  readonly output: string;
  readonly code: number | string | null;
  readonly folder: string;
  /** From the interruption to the end, in milliseconds. */
  readonly after: number;
}

/** @param interrupt sent as soon as somebody hangs */
async function run(kind: string, limitMs: number, interrupt?: NodeJS.Signals): Promise<Ended> {
  const folder = join(root, `${kind}-${limitMs}-${interrupt}`);
  const program = join(import.meta.dirname, "hang-process.ts");
  const { npm_lifecycle_event: _, npm_command: __, ...env } = process.env;
  const args = ["--import", import.meta.resolve("jiti/register"), program, kind, model, folder, `${limitMs}`];
  const child = spawn(process.execPath, args, { env });
  let output = "";
  let [sent, asked] = [false, 0];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => {
      output += data.toString();
      if (interrupt === undefined || sent || !output.includes("hanging")) return;
      sent = true;
      setTimeout(() => {
        asked = performance.now();
        child.kill(interrupt);
      }, 300);
    });
  const code = await new Promise<number | string | null>((resolve) =>
    child.on("close", (status, signal) => resolve(status ?? signal)),
  );
  return { output, code, folder, after: performance.now() - asked };
}

/** A run that its limit of 1.5 s ends, in this process. @returns all that it says */
async function limited(kind: Hanging): Promise<{ output: string; folder: string }> {
  const folder = join(root, kind);
  const said: string[] = [];
  const end = await hangingRun(kind, { model, out: folder, timeoutMs: 1_500 }, (text) => said.push(text));
  return { output: [...said, end].join("\n"), folder };
}

test("a hung agent is ended by its limit, and its episode is a counted fault beside those of others", async () => {
  const { output, folder } = await limited("agent");
  expect(output).toContain("finished after 1 step");
  const trajectories = readTrajectories(folder, 1);
  const late = trajectories.filter(({ stopReason }) => stopReason === "environment-timeout");
  expect([trajectories.length, late.length]).toEqual([2, 1]);
  expect(late[0]).toMatchObject({ reward: 0, error: expect.stringMatching(/play: no answer within 1500 ms/) });
});

test.each(["tool", "mcp"] as const)("a hung %s is ended by its limit, and the call is a counted failure", async (kind) => {
  const { output, folder } = await limited(kind);
  expect(output).toContain("finished after 1 step");
  const failures = readTrajectories(folder, 1).flatMap(({ turns }) => turns.flatMap(({ toolFailures = [] }) => toolFailures));
  expect(failures.length).toBeGreaterThan(0);
  for (const failure of failures) expect(failure.kind).toMatch(kind === "tool" ? "timeout" : /timeout|error/);
});

test("a hung remote environment is ended by its limit, with an error that names it", async () => {
  const { output } = await limited("remote");
  expect(output.replace(/\s+/g, " ")).toMatch(/EnvError: .*in all 2 episodes of step 1 .*1500 ms/);
});

test("a hung reward is ended by its limit, and its groups are left out with a warning", async () => {
  const { output } = await limited("reward");
  expect(output.replace(/\s+/g, " ")).toMatch(
    /reward "stuck": group step-1\/0 is left out of the update: no answer within 1500 ms/,
  );
  expect(output).toMatch(/RewardError: .*given to no group of this step/);
});

test("a hung judge is ended by its limit, with an error that names it", async () => {
  const { output } = await limited("judge");
  expect(output).toMatch(/RewardError: .*not given to group step-1\/0.*nothing within 1500 ms/);
});

test("one Ctrl-C ends train-agent's run of a hung program within three seconds, and the program with it", async () => {
  const { folder, after } = await run("program", 60_000, "SIGINT");
  expect(after).toBeLessThan(3_000 * slowdown());
  const lived = () => readFileSync(`${folder}.lives`).length;
  const then = lived();
  await sleep(500);
  expect(lived()).toBe(then);
});

test.each(["agent", "tool", "mcp", "reward", "judge", "remote"])(
  "one Ctrl-C ends a run with a hung %s within three seconds",
  async (kind) => {
    const { code, after } = await run(kind, 60_000, "SIGINT");
    expect(after).toBeLessThan(3_000 * slowdown());
    expect([3, 130, "SIGINT"]).toContain(code);
  },
);

test("so does one SIGTERM", async () => {
  const { after } = await run("agent", 60_000, "SIGTERM");
  expect(after).toBeLessThan(3_000 * slowdown());
});

test("process.exit in a tool is reported with its name, and the exit code is 1", async () => {
  const { output, code, folder } = await run("exit", 1_500);
  expect(output).toMatch(/error: tool "stuck" ended the process by process\.exit\(0\)\..*--resume/);
  expect(code).toBe(1);
  expect(existsSync(folder)).toBe(true);
  expect(readMessages(folder).at(-1)?.message).toContain("process.exit(0)");
});
