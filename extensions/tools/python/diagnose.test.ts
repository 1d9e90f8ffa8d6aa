import { expect, test } from "vitest";
import { diagnoseSandbox } from "./diagnose.ts";

const namespaces = { name: "namespaces", holds: true, text: "files of its own" } as const;
const limits = { name: "limits", holds: false, text: "not installed" } as const;

test("the walls are listed; a missing one is a doubt, and none at all needs a flag", () => {
  const name = "Python sandbox";
  expect(diagnoseSandbox([namespaces])).toEqual({ name, text: "namespaces: files of its own", state: "good" });
  expect(diagnoseSandbox([namespaces, limits])).toEqual({
    ...{ name, text: "namespaces: files of its own; limits: missing, not installed", state: "doubtful" },
    advice: "docs/tools.md says what each wall is for.",
  });
  expect(diagnoseSandbox([limits])).toEqual({
    ...{ name, text: "limits: missing, not installed", state: "doubtful" },
    advice: "Environments with the Python tool start only with --allow-unwalled-python.",
  });
});
