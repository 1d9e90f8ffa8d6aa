import { expect, test } from "vitest";
import { errorsLine, outcomeOf, reachesOne, succeeded, verdictWithheld } from "./outcome.ts";
import { type StopReason, stopReasons } from "./trajectory.ts";

const ended = (stopReason: StopReason, error?: string) =>
  outcomeOf({ stopReason, reward: 0.5, scores: {}, ...(error === undefined ? {} : { error }) });

test("every end is a score or an error; an agent's own error is a score that says so", () => {
  const kinds = Object.fromEntries(stopReasons.map((reason) => [reason, ended(reason).kind]));
  expect(kinds).toEqual({
    done: "score",
    "max-turns": "score",
    "max-tokens": "score",
    "agent-error": "score",
    "environment-error": "error",
    "environment-timeout": "error",
    "invalid-reward": "error",
    "actor-error": "error",
    cancelled: "error",
  });
  expect(ended("agent-error", "no such day")).toMatchObject({ kind: "score", failure: "no such day" });
  expect(ended("actor-error", "503")).toEqual({ kind: "error", error: "actor-error, 503" });
});

test("a request that the endpoint refused leaves no score; a context without room is the model's failure", () => {
  expect(ended("done", "the model's endpoint refused a request of the agent: no grammar")).toMatchObject({ kind: "error" });
  expect(ended("max-tokens", "the context is too long")).toMatchObject({ kind: "score", reward: 0.5 });
});

test("weights that add up to 1 are success in any order, and what misses 1 by more than rounding is none", () => {
  const sums = [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], Array.from({ length: 10 }, () => 0.1), [1 / 3, 1 / 3, 1 / 3], [1 - 2 ** -53]];
  for (const parts of sums) expect(reachesOne(parts.reduce((sum, part) => sum + part, 0))).toBe(true);
  for (const less of [0.999999, 0.99999999, 0, -1, Number.NaN]) expect(reachesOne(less)).toBe(false);
  expect(succeeded({ reward: 0, scores: { success: 0.7 + 0.2 + 0.1 } })).toBe(true);
  expect(succeeded({ reward: 5, scores: { "reward:environment": 0.1 + 0.2 } })).toBe(false);
});

test("above a tenth of errors on one side there is no verdict; below it they are named", () => {
  const names = ["A", "B"];
  expect(
    verdictWithheld(
      [
        { attempts: 20, errors: 2 },
        { attempts: 20, errors: 0 },
      ],
      names,
    ),
  ).toBeUndefined();
  expect(
    errorsLine(
      [
        { attempts: 20, errors: 2 },
        { attempts: 20, errors: 0 },
      ],
      names,
    ),
  ).toBe("2 of 20 attempts of A ended by an error: no pairs");
  expect(
    verdictWithheld(
      [
        { attempts: 20, errors: 2 },
        { attempts: 20, errors: 3 },
      ],
      names,
    ),
  ).toBe("no verdict: 3 of 20 attempts of B ended by an error, more than a tenth");
});
