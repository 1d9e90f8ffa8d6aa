import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { callText, decodePythonCalls } from "./formats.ts";
import { parseJson } from "./python/json.ts";
import { equal } from "./python/operators.ts";
import type { Dict, Value } from "./python/values.ts";
import { parseRecord } from "./records.ts";
import { replayRecord } from "./replay.ts";

const data = join(import.meta.dirname, "../../../shared/bfcl/data");
const python = process.env.RETROGRADE_BFCL_PYTHON ?? "";

/** Sets print in any order, and an object's address differs from process to process. */
function comparable(text: string): string {
  const known = text.replace(/ at 0x[0-9a-f]+/g, "");
  return known.includes("{'") ? [...known].sort().join("") : known;
}

function differences(line: string): string[] {
  const record = parseRecord(line, "fuzz");
  if (record.value.has("decode")) {
    const wanted = record.value.get("calls") as Value;
    const decoded = decodePythonCalls(record.text("decode")) ?? null;
    return equal(decoded, wanted) ? [] : [`${record.text("decode")}\n${String(decoded)}\n${String(wanted)}`];
  }
  if (record.value.has("native")) {
    const text = callText({ name: record.text("native"), arguments: {}, argumentsText: record.text("arguments") });
    return text === record.text("call") ? [] : [`${record.text("arguments")}\n${text}\n${record.text("call")}`];
  }
  const replayed = parseJson(replayRecord(record)) as Dict;
  const [turn] = record.list("turns") as Dict[];
  const calls = turn.get("calls") as string[];
  const ours = (replayed.get("turns") as Dict[])[0].get("results") as string[];
  const wrong = (turn.get("results") as string[]).flatMap((result, i) =>
    comparable(result) === comparable(ours[i]) ? [] : [`${calls[i]}\n${ours[i]}\n${result}`],
  );
  const sameState = equal(replayed.get("final_state") ?? null, record.dict("final_state"));
  return wrong.length > 0 || sameState ? wrong : [`${record.text("id")}: final_state`];
}

describe.skipIf(python === "" || !existsSync(data))(
  "the official Python (skipped without RETROGRADE_BFCL_PYTHON, a Python with bfcl-eval, and ../shared/bfcl)",
  () => {
    test("random calls, right and malformed, and both action formats give the same texts and states", () => {
      const program = join(import.meta.dirname, "../../bench/peers/bfcl_fuzz.py");
      const run = execFileSync(python, ["-W", "ignore", program, data, "7", "60"], { encoding: "utf8", maxBuffer: 2 ** 28 });
      const lines = run.split("\n").filter((line) => line !== "");
      expect(lines.flatMap(differences)).toEqual([]);
      expect(lines.length).toBeGreaterThan(150);
    }, 120_000);
  },
);
