import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { parseJson } from "./python/json.ts";
import { equal } from "./python/operators.ts";
import { str } from "./python/text.ts";
import type { Dict, Value } from "./python/values.ts";
import { Session } from "./session.ts";
import { stateText } from "./state-text.ts";

/** Vectors that were recorded with the official Python. They are not part of this repository. */
const folder = join(import.meta.dirname, "../../../../shared/bfcl/conformance");
const files = existsSync(folder) ? readdirSync(folder).filter((file) => /^(ground|pert|cov)/.test(file)) : [];

function readLines(file: string): Dict[] {
  const bytes = readFileSync(join(folder, file));
  const text = file.endsWith(".gz") ? gunzipSync(bytes).toString("utf8") : bytes.toString("utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => parseJson(line) as Dict);
}

describe.skipIf(files.length === 0)("vectors of the official Python (skipped where ../shared/bfcl is not there)", () => {
  test.each(files)("%s", (file) => {
    const wrong: string[] = [];
    for (const record of readLines(file)) {
      const id = str(record.get("task_id") ?? record.get("id") ?? null);
      const session = new Session({
        taskId: id,
        involvedClasses: record.get("involved_classes") as string[],
        initialConfig: record.get("initial_config") as Dict,
        longContext: record.get("long_context") === true,
      });
      for (const turn of record.get("turns") as Dict[]) {
        const calls = turn.get("calls") as string[];
        const results = session.execute(calls);
        (turn.get("results") as string[]).forEach((result, i) => {
          if (results[i] !== result)
            wrong.push(`${record.get("id")}: ${calls[i]}\n  ${results[i].slice(0, 400)}\n  ${result.slice(0, 400)}`);
        });
      }
      for (const [which, key] of [
        ["public", "final_state"],
        ["private", "private_state"],
      ] as const)
        if (!equal(parseJson(stateText(session.instances, which)), record.get(key) as Value))
          wrong.push(`${record.get("id")} ${key}:\n  ${stateText(session.instances, which).slice(0, 600)}`);
    }
    expect(wrong).toEqual([]);
  });
});
