import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { TeacherRequest } from "../extensions/agents/scripted-teacher.ts";
import { trainAgent } from "../extensions/agents/taught-agent.ts";
import "./loopback.ts";
import { files, folder, tasks } from "./taught-agent.fixture.ts";

const runtime = vi.hoisted(() => ({ isMissing: false }));
vi.mock("../extensions/local/peak.ts", async (original) => {
  const peak = await original<typeof import("../extensions/local/peak.ts")>();
  const measurePeak: typeof peak.measurePeak = async (options) => {
    if (runtime.isMissing) throw new Error("onnxruntime-node is missing");
    return peak.measurePeak(options);
  };
  return { ...peak, measurePeak };
});

test("from code the same; what cannot be taught is refused before a model is loaded", async () => {
  const given = {
    ...{
      agent: files.agent,
      reward: ({ answer, task }: { answer: unknown; task: { book: string } }) => Number(answer === task.book),
    },
    ...{ tasks, model: "bundled:office", teacher: files.expert, engine: { threads: 1 } },
  } as const;
  const out = (name: string) => join(folder, name);
  await expect(trainAgent({ ...given, tasks: tasks.slice(0, 7), out: out("few") })).rejects.toThrow(/at least 8 training tasks/);
  const both = { train: tasks, test: tasks.slice(0, 2) };
  await expect(trainAgent({ ...given, tasks: both, out: out("both") })).rejects.toThrow(/trained or measured, and not both/);
  const wrong = () => ({ content: "no idea" });
  await expect(trainAgent({ ...given, teacher: wrong, out: out("wrong") })).rejects.toThrow(
    /0 of 5 attempts are kept.*reward.*plays nothing again/,
  );
  const failing = (_: TeacherRequest) => Promise.reject(new Error("the shop is closed"));
  await expect(trainAgent({ ...given, teacher: failing, out: out("failing") })).rejects.toThrow("the shop is closed");
  await expect(trainAgent({ ...given, teacher: join(folder, "none.mjs"), out: out("none") })).rejects.toThrow("none.mjs");
  await expect(trainAgent({ ...given, demonstrations: { tasks: 9 }, out: out("all") })).rejects.toThrow(
    /demonstrations.tasks is 9; expected a whole number from 4 to 6/,
  );
  await expect(trainAgent({ ...given, model: join(folder, "no-model"), out: out("model") })).rejects.toThrow("no-model");
  let called = 0;
  const counting = (_: TeacherRequest) => ({ content: String(called++) });
  runtime.isMissing = true;
  const missing = trainAgent({ ...given, teacher: counting, out: out("missing") });
  await expect(missing.finally(() => (runtime.isMissing = false))).rejects.toThrow("onnxruntime-node is missing");
  expect(called).toBe(0); // a teacher may cost money
  for (const name of ["missing", "few", "both", "wrong", "failing", "none", "all", "model"])
    for (const stage of ["", "-sft"]) expect(existsSync(`${out(name)}${stage}`)).toBe(false);
});
