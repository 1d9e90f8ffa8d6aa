import { expect, test, vi } from "vitest";
import { invoke } from "../../command-line.fixture.ts";
import { labSettingsSchema } from "../config.ts";
import { labSettingsOf, progressOn } from "./lab.ts";

const theorem = "grae.ppu.turn.reverse.m-exact.history.maximise.exact";

test("--json prints JSON and nothing else, with the cell's verdicts", async () => {
  const { out, exitCode } = await invoke("lab", "--json", "--cell", theorem, "--problems", "2");
  expect(exitCode).toBe(0);
  const { format, cells, settings } = JSON.parse(out);
  expect(format).toBe("retrograde-lab/2");
  expect(settings.problems).toBe(2);
  expect(cells).toHaveLength(1);
  expect(cells[0]).toMatchObject({
    id: theorem,
    status: "run",
    multi: { monotone: true, shares: { fell: 0, reached: 1, rising: 0, resting: 0, plateau: 0 } },
  });
  expect(cells[0].multi.updatesToReach).toBeGreaterThan(1);
  expect(cells[0].multi.findings[0].reachedAt).toHaveLength(2);
});

test("one cell is printed with what a person can check", async () => {
  const { out } = await invoke(
    "lab",
    "--cell",
    "grae.ppu.turn.joint.m-off.index.maximise.exact",
    "--problems",
    "1",
    "--updates",
    "5",
  );
  expect(out).toContain("turn 1  a 0.5  b 0.5  →  a 0.6  b 0.4");
  expect(out).toContain("J 5.25 → 5.16");
});

const mistakes: readonly (readonly [string, string])[] = [
  [
    "--cell grae.ppu.turn.reverse.m-exact.history.maximize.exact",
    'Part 7, "maximize", can be respond, maximise, kl, trust, steps.',
  ],
  ["--cell seeupo", "It has 1 of 8 parts."],
  ["--problems none", 'problems is "none"; expected a number'],
  ["--problems 0", "problems is 0; expected at least 1"],
  ["--turns 1,9", "turns.1 is 9; expected at most 4"],
  ["--actions 5", "--actions is 5; expected a power of the tokens of an action (--tokens 2): 4, 9, 16"],
  ["--turns 4 --actions 9", "expected at most 4096"],
  ["--turns 1,2,3 --problems 1000 --updates 5000", "about an hour on one core"],
  ["--ratio norm", 'expected "normalised" or "plain"'],
];

test.each(mistakes)("lab %s", async (line, message) => {
  const { error, exitCode } = await invoke("lab", ...line.split(" "));
  expect(error).toContain(message);
  expect(exitCode).toBe(2);
});

test("the help says the defaults that hold", async () => {
  const { out } = await invoke("lab", "--help");
  const { rules, ...defaults } = labSettingsSchema.parse({});
  const flagOf = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  for (const [name, value] of Object.entries({ ...defaults, ...rules })) {
    const text = out.slice(out.indexOf(`  ${flagOf(name)} <`)).replace(/\s+/g, " ");
    expect(/\(default: ([^)]*)\)/.exec(text)?.[1], name).toBe(String(value));
  }
});

test("without flags the settings are the defaults", () => {
  expect(labSettingsOf({})).toEqual(labSettingsSchema.parse({}));
  expect(labSettingsOf({ full: false, json: true, cell: "c" })).toEqual(labSettingsSchema.parse({}));
});

test("--full takes larger sizes, and flags still decide", () => {
  expect(labSettingsOf({ full: true })).toMatchObject({ turns: [1, 2, 3], problems: 12, updates: 100 });
  expect(labSettingsOf({ full: true, turns: "2", stepSize: "0.1" })).toMatchObject({ turns: [2], rules: { stepSize: 0.1 } });
});

test.each([true, false])("progress, on a terminal: %s", (live) => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const said: string[] = [];
    const screen = { live, status: (text: string) => said.push(`status ${text}`), line: (text: string) => said.push(text) };
    const show = progressOn(screen as unknown as Parameters<typeof progressOn>[0]);
    for (const done of [1, 5, 6, 20]) {
      vi.advanceTimersByTime(30_000);
      show({ done, total: 20 });
    }
    expect(said.filter((line) => !line.startsWith("status"))).toEqual(
      live ? [] : ["20 % of 20 cells, 1 min 00 s", "30 % of 20 cells, 1 min 30 s", "100 % of 20 cells, 2 min 00 s"],
    );
    expect(said.filter((line) => line.startsWith("status")).map((line) => line.replace(/^status .{20} {2}/, ""))).toEqual([
      ...["1/20 cells  9 min 30 s left", "5/20 cells  3 min 00 s left", "6/20 cells  3 min 30 s left", "20/20 cells  0.0 s left"],
    ]);
  } finally {
    vi.useRealTimers();
  }
});
