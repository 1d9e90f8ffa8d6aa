import "../../../test/loopback.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Ledger } from "../../../extensions/judge/ledger.ts";
import { judgeServer } from "../../../extensions/judge/server.fixture.ts";
import { judgePrompt, openJudge, readJudgement } from "./judge.ts";

test.each([
  ["Correct", "correct"],
  ["The answer is CORRECT.", "correct"],
  ["Incorrect", "incorrect"],
  ["This is not correct", "incorrect"],
  ["correct in part, but wrong", "incorrect"],
  ["<think>incorrect? no</think> Correct", "correct"],
  ["I cannot tell.", undefined],
  ["", undefined],
] as const)("reads %j as %s", (reply, verdict) => expect(readJudgement(reply)).toBe(verdict));

test("the judge reads question, golds and prediction", () => {
  const prompt = judgePrompt({ question: "Who?", golds: ["Ada", "A. L."], prediction: "Ada Lovelace" });
  for (const text of ["Question: Who?", "Gold answers: Ada | A. L.", "Prediction: Ada Lovelace"]) expect(prompt).toContain(text);
});

test("a question about a prediction is asked once, and its verdict is kept; a reply that is none is asked for three times, and again later", async () => {
  const words: Readonly<Record<string, string>> = { "Ada L.": "Correct", Bo: "Wrong", Nobody: "Hm" };
  const { baseUrl, requests } = await judgeServer(({ messages }) => {
    const prediction = /Prediction: (.*)/.exec(messages[0]?.content ?? "")?.[1] ?? "";
    return { content: words[prediction] ?? "" };
  });
  const file = join(mkdtempSync(join(tmpdir(), "judge-ledger-")), "judge.jsonl");
  const settings = { baseUrl, model: "wise", retries: 0 };
  const asked = (prediction: string) => ({ question: "Who?", golds: ["Ada"], prediction });
  const judge = openJudge(settings, new Ledger(file));
  expect(await Promise.all(["Ada L.", "Ada L.", "Bo", "Nobody"].map((each) => judge(asked(each))))).toEqual([
    ...["correct", "correct", "incorrect", "unusable"],
  ]);
  expect(requests).toHaveLength(1 + 1 + 3);
  expect(requests.filter(({ temperature }) => temperature === 0.7)).toHaveLength(2);
  expect(requests.every(({ max_tokens }) => max_tokens === 2048)).toBe(true);
  const kept = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(kept.map(({ group, scores, problem, calls }) => [group, scores, problem, calls]).toSorted()).toEqual(
    [
      ...[
        ["Who?", [0], undefined, 1],
        ["Who?", [1], undefined, 1],
        ["Who?", undefined, "no verdict", 3],
      ],
    ].toSorted(),
  );
  // What was decided is not asked again; what was not is.
  const again = openJudge(settings, new Ledger(file));
  expect([await again(asked("Ada L.")), await again(asked("Bo"))]).toEqual(["correct", "incorrect"]);
  expect(requests).toHaveLength(5);
  expect(await again(asked("Nobody"))).toBe("unusable");
  expect(requests).toHaveLength(8);
  // Another model's verdicts are its own.
  expect(await openJudge({ ...settings, model: "wiser" }, new Ledger(file))(asked("Bo"))).toBe("incorrect");
  expect(requests).toHaveLength(9);
});
