import { expect, test } from "vitest";
import type { Act } from "../core/acts.ts";
import { actsText, requireTrusted, trustRun, UntrustedError } from "./trust.ts";

const act = (kind: Act["kind"], what: string): Act => ({ kind, what });

test("the most serious act comes first, whatever the order of the settings", () => {
  const acts = [
    act("reads", "f"),
    act("model", "m"),
    act("writes", "w"),
    act("listens", "l"),
    act("runs", "code"),
    act("starts", "p"),
  ];
  expect(actsText([acts])).toBe(
    'starts the program "p", runs code, listens at "l", writes into "w", uses the model "m", reads "f"',
  );
});

test("variables are sent to the addresses of their own part, once; an address without any is contacted", () => {
  const one = [
    act("connects", "http://a"),
    act("sends", "KEY"),
    act("sends", "OTHER"),
    act("sends", "KEY"),
    act("connects", "http://b"),
  ];
  expect(actsText([one, [act("connects", "http://c")]])).toBe(
    'sends $KEY and $OTHER to "http://a" or "http://b", connects to "http://c"',
  );
  expect(actsText([[act("sends", "no variable")]])).toContain('sends "no variable" to');
});

test("what a part starts or writes is said beside what it sends; an address that gets a variable is not named again", () => {
  const part = [act("connects", "http://a"), act("starts", "p"), act("sends", "KEY"), act("writes", "w")];
  expect(actsText([part])).toBe('starts the program "p", sends $KEY to "http://a", writes into "w"');
  expect(actsText([])).toBe("");
});

test("long names are cut, and beyond eight acts the rest is counted", () => {
  const files = (count: number) => [Array.from({ length: count }, (_, i) => act("reads", `f${i}`))];
  expect(actsText(files(8))).not.toContain("more");
  expect(actsText(files(11))).toMatch(/reads "f7", does 3 more such things$/);
  expect(actsText([[act("reads", "a".repeat(120))]])).toBe(`reads "${"a".repeat(120)}"`);
  expect(actsText([[act("reads", "a".repeat(121))]])).toBe(`reads "${"a".repeat(120)}…"`);
});

test("only what acts, is from elsewhere and is not trusted is refused", () => {
  const acts = [[act("starts", "rm")]];
  expect(() => requireTrusted("/elsewhere", () => false, acts)).toThrow(UntrustedError);
  expect(() => requireTrusted("/elsewhere", () => false, acts)).toThrow(
    'a record of your own, since this one starts the program "rm"',
  );
  expect(() => requireTrusted("/elsewhere", () => false, [[]])).not.toThrow();
  expect(() => requireTrusted("/elsewhere", () => true, acts)).not.toThrow();
  trustRun("/elsewhere/../elsewhere");
  expect(() => requireTrusted("/elsewhere", () => false, acts)).not.toThrow();
  expect(() => requireTrusted("/another", () => false, acts)).toThrow(UntrustedError);
  trustRun();
  expect(() => requireTrusted("/another", () => false, acts)).not.toThrow();
});
