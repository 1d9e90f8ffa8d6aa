import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import "../../../test/office.ts";
import { invoke } from "../../../test/command-line.ts";

test("a dry run of sft shows the settings and where they are from, and starts nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sft-dry-"));
  const config = join(folder, "retrograde.config.mjs");
  writeFileSync(config, "export default { steps: 7 };\n");
  const given = ["sft", "--config", config, "--dry-run", "--out", join(folder, "run")];
  const { exitCode, error, out } = await invoke(...given, "--data", "talk.jsonl", "--model", "smollm2");
  expect({ exitCode, error }).toEqual({ exitCode: 0, error: "" });
  const lines = out.split("\n").map((line) => line.trim());
  expect(lines).toEqual(
    expect.arrayContaining([
      'algorithm.kind = "sft"  [command line]',
      'algorithm.data = "talk.jsonl"  [command line]',
      "steps = 7  [configuration file]",
      'environment.name = "conversations"  [--data alone]',
      "evaluation.tasks = 0  [--data alone]",
      "Nothing was started.",
    ]),
  );
  expect((await invoke(...given, "--env", "office")).out).toContain('environment.name = "office"  [command line]');
  expect((await invoke(...given, "--resume")).error).toMatch(/--dry-run is true; expected no --resume/);
  expect(readdirSync(folder)).toEqual(["retrograde.config.mjs"]);
});
