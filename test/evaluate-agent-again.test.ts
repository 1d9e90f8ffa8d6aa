import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { evaluateAgent } from "../extensions/agents/evaluate-agent.ts";
import { readEpisodes, readEvaluations, readSummary } from "../src/runs/read.ts";
import { encodeTrajectory } from "../src/runs/trajectory-file.ts";
import { invoke } from "./command-line.ts";
import "./loopback.ts";
import { agent, reward, tasks, with_ } from "./evaluate-agent.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "evaluate-again-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** An agent whose evaluation is ended at its n-th attempt. */
function endedAt(n: number) {
  const asked: string[] = [];
  const ended = new AbortController();
  const asking = async (prompt: string, run: { readonly name: string }) => {
    asked.push(prompt);
    if (asked.length === n) ended.abort(new Error("stopped"));
    return agent(prompt, run);
  };
  return { asked, asking, signal: ended.signal };
}

test("an evaluation that was ended continues in its folder, with the result of one that was not; another one is refused", async () => {
  const { asked, asking, signal } = endedAt(8);
  const out = join(folder, "run");
  const given = { agent: asking, tasks, reward, endpoint: with_("weak"), k: 2, concurrency: 2, out };
  await expect(evaluateAgent({ ...given, signal })).rejects.toThrow("stopped");
  const before = asked.length;
  expect(readdirSync(out)).toEqual([".attempts.jsonl"]);
  await expect(evaluateAgent({ ...given, reward: () => 1 })).rejects.toThrow(/the SHA-256 of the reward is .*give another --out/);
  await expect(evaluateAgent({ ...given, endpoint: with_("strong") })).rejects.toThrow(/the model is "strong at/);
  await expect(evaluateAgent({ ...given, tasks: tasks.slice(1) })).rejects.toThrow(/the SHA-256 of the tasks is/);
  expect(asked.length).toBe(before);

  const whole = await evaluateAgent({ ...given, out: join(folder, "whole") });
  const again = await evaluateAgent(given);
  expect(again.resumed).toBeGreaterThanOrEqual(5);
  expect(asked.length - before).toBe(12 + 12 - again.resumed);
  const plain = (episodes: typeof again.episodes) => episodes.map((episode) => JSON.parse(encodeTrajectory(episode)));
  const written = ({ episodes, ...each }: typeof again) => ({ ...each, episodes: plain(episodes) });
  expect(written(again)).toEqual({ ...written(whole), resumed: again.resumed });
  const [record] = readEvaluations(out);
  expect(plain(readEpisodes(out, record as NonNullable<typeof record>))).toEqual(plain(again.episodes));
  expect(readSummary(out)).toMatchObject({ episodes: 12 });
  expect(readdirSync(out).filter((name) => name.startsWith("."))).toEqual([]);
  await expect(evaluateAgent(given)).rejects.toThrow("a run already");
});

test("attempts that are left draw otherwise than those that a model of this machine was asked for before", async () => {
  const heard: string[] = [];
  const { asking, signal } = endedAt(3);
  const listening = async (prompt: string, run: { readonly name: string }) => {
    const said = await asking(prompt, run);
    heard.push(said);
    return said;
  };
  const model = join(folder, "office");
  cpSync(new URL("../models/office", import.meta.url), model, { recursive: true, preserveTimestamps: true });
  const given = { agent: listening, reward, tasks: tasks.slice(0, 1), model, k: 4, concurrency: 1, engine: { threads: 1 } };
  const out = join(folder, "drawn");
  await expect(evaluateAgent({ ...given, out, signal })).rejects.toThrow("stopped");
  const first = heard.splice(0).slice(0, 2);
  const weights = join(model, "model.safetensors");
  const { atime, mtime } = statSync(weights);
  utimesSync(weights, atime, new Date());
  await expect(evaluateAgent({ ...given, out })).rejects.toThrow(/the model is .*, written .*give another --out/);
  utimesSync(weights, atime, mtime);
  const { resumed, episodes } = await evaluateAgent({ ...given, out });
  expect([resumed, heard.length, episodes.length]).toEqual([2, 2, 4]);
  expect(heard).not.toEqual(first);
});

test("after Ctrl-C eval --agent says how to continue, and that command plays the rest", async () => {
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const played = join(folder, "played");
  const text = `import { appendFileSync, existsSync, readFileSync } from "node:fs";
export default async (prompt) => {
  appendFileSync(${JSON.stringify(played)}, "x");
  if (readFileSync(${JSON.stringify(played)}, "utf8").length === 5) {
    process.emit("SIGINT");
    return new Promise(() => {});
  }
  return prompt;
};
`;
  const given = [
    ...["eval", "--agent", file("agent.mjs", text), "--split", "all", "--out", join(folder, "stopped")],
    ...["--tasks", file("tasks.jsonl", tasks.map((task) => `${JSON.stringify(task)}\n`).join(""))],
    ...["--reward", file("reward.mjs", `export default ${String(reward)};\n`)],
  ];
  // A busy machine may take longer than a clean end is waited for.
  const [kill, exit] = [vi.spyOn(process, "kill"), vi.spyOn(process, "exit")];
  kill.mockReturnValue(true);
  exit.mockReturnValue(undefined as never);
  const stopped = await invoke(...given);
  expect(stopped).toMatchObject({ exitCode: 130, error: "" });
  expect(stopped.out).toContain("Interrupted. Attempts that have ended are kept: the same command with --out ");
  const again = await invoke(...given);
  expect(again).toMatchObject({ exitCode: 0, error: "" });
  expect(again.out).toMatch(/ [1-4] attempts? had been played already/);
  expect(existsSync(join(folder, "stopped/summary.json"))).toBe(true);
  vi.restoreAllMocks();
});
