import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { present } from "../../src/core/present.ts";
import { experts } from "./experts.ts";
import { actionOf, miniwobEnvironment, written } from "./miniwob.ts";
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
