import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { actsOf } from "../../src/core/acts.ts";
import { present } from "../../src/core/present.ts";
import { experts } from "./experts.ts";
import { actionOf, miniwobEnvironment, miniwobSettingsSchema, written } from "./miniwob.ts";
import type { PageRuntime } from "./page.ts";

const data = mkdtempSync(join(tmpdir(), "miniwob-"));
mkdirSync(join(data, "html", "miniwob"), { recursive: true });
writeFileSync(join(data, "html", "miniwob", "drag-box.html"), "");

test("an action is one line of the form that is shown, and anything else is none", () => {
  expect(actionOf("click 3")).toEqual({ kind: "click", ref: 3 });
  expect(actionOf(" click 12\n")).toEqual({ kind: "click", ref: 12 });
  expect(actionOf('type 2 "a b" c')).toEqual({ kind: "type", ref: 2, text: '"a b" c' });
  for (const text of ["", "click", "click x", "click 3 twice", "type 2", "press 3", "I click 3", "click 12345"])
    expect(actionOf(text)).toBeUndefined();
});

test("a page is written by one line an element, with its number, kind, name and state", () => {
  const shown = [
    { role: "text", name: "Arcu pulvinar" },
    { ref: 1, role: "text", name: "star" },
    { ref: 2, role: "textbox", name: "Name", value: 'a "b"' },
    { ref: 3, role: "checkbox", name: "", checked: true },
    { ref: 4, role: "radio", name: "one", checked: false },
  ];
  expect(written(shown)).toBe('"Arcu pulvinar"\n1 "star"\n2 textbox "Name" = "a \\"b\\""\n3 checkbox chosen\n4 radio "one"');
});

test("pages that are not played, and folders without pages, are refused by name", () => {
  const refusal = (settings: object) => {
    try {
      miniwobEnvironment(settings);
      return "accepted";
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(refusal({ data: join(data, "none") })).toMatch(/environment.settings.data is .*none.*pip download/);
  expect(refusal({ data, pages: ["click-test", "drag-box"] })).toMatch(
    /pages is "drag-box"; expected .* This page needs a pointer with coordinates/,
  );
  expect(refusal({ data, pages: ["clik-test"] })).toMatch(/pages is "clik-test"; .* There is no page of that name/);
  expect(refusal({ data, page: ["click-test"] })).toMatch(/page/);
  expect(refusal({ data })).toBe("accepted");
  expect(Object.keys(experts).length).toBe(49);
});

test("the pages of its folder run as code", () => {
  expect(actsOf(miniwobSettingsSchema, miniwobSettingsSchema.parse({ data: "/x" }))).toEqual([
    { kind: "runs", what: "the pages in /x" },
  ]);
  for (const maxActions of [0, 101, 1.5]) expect(miniwobSettingsSchema.safeParse({ data: "/x", maxActions }).success).toBe(false);
  expect(miniwobSettingsSchema.parse({ data: "/x", maxActions: 100 }).maxActions).toBe(100);
  expect(miniwobSettingsSchema.parse({ data: "/x" }).maxActions).toBe(16);
  expect(miniwobSettingsSchema.safeParse({ data: "/x", pages: [] }).success).toBe(false);
});

/** A page of two buttons, of which the second one gives the reward. */
function twoButtons(reward: number): {
  readonly open: () => Promise<PageRuntime>;
  readonly closed: () => number;
  readonly asked: string[];
} {
  const asked: string[] = [];
  let [ended, closed] = [false, 0];
  const evaluate = async (expression: string) => {
    if (expression.startsWith("wob.")) asked.push(expression);
    if (expression.startsWith("wob.start")) return 'Click on the "TWO" button.';
    if (expression === "wob.look()")
      return [
        { ref: 1, role: "button", name: "ONE" },
        { ref: 2, role: "button", name: "TWO" },
      ];
    if (expression === "wob.state()") return { done: ended, reward: ended ? reward : 0 };
    if (expression.startsWith("wob.act")) {
      ended = expression.includes("2");
      return ended ? "" : "there is no element 7";
    }
    return 0;
  };
  return { open: async () => ({ evaluate, close: async () => void closed++ }), closed: () => closed, asked };
}

test("an episode ends with the page's, and only its full reward is one", async () => {
  for (const [page, reward] of [
    [1, 1],
    [0.5, 0],
    [-1, 0],
  ] as const) {
    const { open, closed, asked } = twoButtons(page);
    const environment = miniwobEnvironment({ data, pages: ["click-button"] }, open);
    const task = await environment.task("test", 3);
    expect(task).toMatchObject({ kind: "click-button", id: "test/3/click-button" });
    const episode = await environment.start(task, 0);
    expect(episode.messages.at(-1)?.content).toBe('Click on the "TWO" button.\n\n1 button "ONE"\n2 button "TWO"');
    expect(asked[0]).toBe(`wob.start(${task.seed})`);
    const said = async (content: string) => await episode.reply({ role: "assistant", content });
    expect((await said("please")).messages?.[0]?.content).toMatch(/^Error: an action is "click N" or "type N TEXT"\./);
    expect((await said("click 7")).messages?.[0]?.content).toMatch(/^Error: there is no element 7\./);
    expect(await said("click 2")).toEqual({ done: true });
    expect(await episode.score([])).toEqual({ reward, scores: { page } });
    await episode.close?.();
    expect(closed()).toBe(1);
  }
});

test("a demonstration is the script's conversation, and its page is closed", async () => {
  const { open, closed } = twoButtons(1);
  const environment = miniwobEnvironment({ data, pages: ["click-button"] }, open);
  const messages = await present(environment.demonstrate, "demonstrate")(await environment.task("train", 0), 0);
  expect(messages.map(({ role, content }) => (role === "assistant" ? content : role))).toEqual(["system", "user", "click 2"]);
  expect(closed()).toBe(1);
});

test("pages are played in turn, each task with a seed of its own, in the splits that every environment has", async () => {
  const { open } = twoButtons(1);
  const environment = miniwobEnvironment({ data, pages: ["click-button", "click-test"] }, open);
  const task = async (split: string, index: number) => environment.task(split as "train", index);
  const some = await Promise.all([0, 1, 2].map((index) => task("train", index)));
  expect(some.map(({ id, kind }) => [id, kind])).toEqual([
    ["train/0/click-button", "click-button"],
    ["train/1/click-test", "click-test"],
    ["train/2/click-button", "click-button"],
  ]);
  const seeds = [...some, await task("test", 0)].map(({ seed }) => seed);
  expect(new Set(seeds).size).toBe(4);
  for (const seed of seeds) expect(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31).toBe(true);
  expect([environment.name, environment.replayable]).toEqual(["miniwob", true]);
  expect(environment.splits?.map((split) => environment.size(split))).toEqual([
    ...["train", "validation", "test", "challenge"].map(() => Number.POSITIVE_INFINITY),
  ]);
  expect(environment.size("pairs" as "train")).toBe(0);
  expect((await miniwobEnvironment({ data }, open).task("train", 48)).kind).toBe(Object.keys(experts)[48]);
});

test("what a model is shown first, and what an error adds, word for word", async () => {
  const { open } = twoButtons(0);
  const environment = miniwobEnvironment({ data, pages: ["click-button"], maxActions: 3 }, open);
  const episode = await environment.start(await environment.task("test", 0), 0);
  const page = '1 button "ONE"\n2 button "TWO"';
  expect(episode.messages).toEqual([
    { role: "system", content: "Operate the page by one action a message:\nclick N\ntype N TEXT" },
    { role: "user", content: `Click on the "TWO" button.\n\n${page}` },
  ]);
  expect([episode.tools, episode.limits]).toEqual([[], { turns: 3 }]);
  const said = async (content: string) => await episode.reply({ role: "assistant", content });
  const error = (wrong: string) => ({ done: false, messages: [{ role: "user", content: `Error: ${wrong}.\n\n${page}` }] });
  expect(await said("type it")).toEqual(error('an action is "click N" or "type N TEXT"'));
  expect(await said("click 7")).toEqual(error("there is no element 7"));
});

test("a demonstration shows each page after its action, and stops where the page or the script ends", async () => {
  const shown = [
    { ref: 1, role: "button", name: "ONE" },
    { ref: 2, role: "button", name: "TWO" },
  ];
  const played = async (doneAfter: number) => {
    let acts = 0;
    const evaluate = async (expression: string) => {
      if (expression.startsWith("wob.start")) return "Click ONE, then TWO.";
      if (expression.startsWith("wob.act")) return acts++ === 0 ? "" : "it is grey";
      if (expression === "wob.look()") return shown;
      return expression === "wob.state()" ? { done: acts >= doneAfter, reward: 1 } : 0;
    };
    const open = async () => ({ evaluate, close: async () => {} });
    const environment = miniwobEnvironment({ data, pages: ["click-button-sequence"] }, open);
    const messages = await present(environment.demonstrate, "demonstrate")(await environment.task("train", 0), 0);
    return messages.slice(2).map(({ content }) => content);
  };
  const page = '1 button "ONE"\n2 button "TWO"';
  expect(await played(1)).toEqual(["click 1"]);
  expect(await played(2)).toEqual(["click 1", page, "click 2"]);
  expect(await played(3)).toEqual(["click 1", page, "click 2", `Error: it is grey.\n\n${page}`]);
});

test("a demonstration types what is asked for", async () => {
  const evaluate = async (expression: string) => {
    if (expression.startsWith("wob.start")) return 'Enter "a b" into the field.';
    if (expression.startsWith("wob.act")) return "";
    if (expression === "wob.look()") return [{ ref: 3, role: "textbox", name: "" }];
    return expression === "wob.state()" ? { done: false, reward: 0 } : 0;
  };
  const environment = miniwobEnvironment({ data, pages: ["enter-text"] }, async () => ({ evaluate, close: async () => {} }));
  const messages = await present(environment.demonstrate, "demonstrate")(await environment.task("train", 0), 0);
  expect(messages.flatMap(({ role, content }) => (role === "assistant" ? [content] : []))).toEqual(["type 3 a b", "click 0"]);
});

test("pages that elements alone do not play are named with the thing that they need", () => {
  const needs = (name: string) => {
    writeFileSync(join(data, "html", "miniwob", `${name}.html`), "");
    try {
      return miniwobEnvironment({ data, pages: [name] });
    } catch (error) {
      return (error as Error).message.replace(/^.*\. (?=This page)/s, "");
    }
  };
  const pointer =
    "drag-a draw-a bisect-a chase-circle circle-a find-midpoint grid-coordinate highlight-text hot-cold hover-a moving-a resize-a right-angle scroll-text use-slider use-colorwheel click-menu-2 click-pie form-sequence";
  const layout =
    "click-collapsible click-collapsible-nodelay identify-shape count-shape count-sides visual-addition number-checkboxes tic-tac-toe";
  const time = "stock-market simon-says button-delay some-popup use-autocomplete choose-date";
  for (const name of pointer.split(" "))
    expect([name, needs(name)]).toEqual([name, "This page needs a pointer with coordinates."]);
  for (const name of layout.split(" ")) expect([name, needs(name)]).toEqual([name, "This page needs a layout or a picture."]);
  for (const name of time.split(" "))
    expect([name, needs(name)]).toEqual([name, "This page needs time that passes, or windows that interrupt."]);
  const others =
    "click-menu form-sequence-3 use-spinner my-drag my-scroll-text my-use-slider my-identify-shape tic-tac-toe-2 my-stock-market";
  for (const name of others.split(" ")) expect(needs(name)).toBe("This page has no script that solves it yet.");
  expect(() => miniwobEnvironment({ data: join(data, "none") })).toThrow(
    "expected the folder of the Python package miniwob 1.1.0, with html/miniwob in it. pip download --no-deps miniwob==1.1.0, then unzip the wheel.",
  );
});
