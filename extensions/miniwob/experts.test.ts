import { expect, test } from "vitest";
import { experts } from "./experts.ts";
import type { Act, Shown } from "./page.ts";

/** Elements as "role name", "role name=value" or "#role name", which cannot be acted on; the others are numbered from 1. */
function page(...elements: readonly string[]): Shown[] {
  let ref = 0;
  return elements.map((element) => {
    const [, fixed, role = "", name = "", value] = /^(#?)(\S+) ?([^=]*)(?:=(.*))?$/.exec(element) ?? [];
    return { ...(fixed === "#" ? {} : { ref: ++ref }), role, name, ...(value === undefined ? {} : { value }) };
  });
}

/** The actions of a script as a model writes them. @param pages the page, and what it shows after each action; the last one stays */
function played(name: string, instruction: string, ...pages: readonly (readonly Shown[])[]): string[] {
  const script = experts[name]?.(instruction, pages[0] ?? []);
  const acts: string[] = [];
  let step = script?.next();
  while (step !== undefined && !step.done) {
    const act: Act = step.value;
    acts.push(act.kind === "click" ? `click ${act.ref}` : `type ${act.ref} ${act.text}`);
    step = script?.next(pages[Math.min(acts.length, pages.length - 1)] ?? []);
  }
  return acts;
}

test.each<[name: string, instruction: string, elements: readonly string[], acts: readonly string[]]>([
  [
    "choose-list",
    "Select Ana from the list and click Submit.",
    ["option Bo", "option Ana", "button Submit"],
    ["click 2", "click 3"],
  ],
  ["click-button", 'Click on the "ok" button.', ["button no", "#button ok", "button ok"], ["click 2"]],
  ["click-button-sequence", "Click ONE, then TWO.", ["button TWO", "button ONE"], ["click 2", "click 1"]],
  [
    "click-checkboxes",
    "Select b, c and click Submit.",
    ["checkbox a", "checkbox b", "radio c", "checkbox c", "button Submit"],
    ["click 2", "click 4", "click 5"],
  ],
  ["click-checkboxes", "Select nothing and click Submit.", ["checkbox nothing", "button Submit"], ["click 2"]],
  ["click-color", "Click on the red colored box.", ["text blue", "text red"], ["click 2"]],
  ["click-dialog", "Close the dialog.", ["button ok", "button Close"], ["click 2"]],
  ["click-dialog-2", 'Click the button "x".', ["button x", "button close"], ["click 2"]],
  ["click-dialog-2", 'Click the button "Cancel".', ["button close", "button Cancel"], ["click 2"]],
  ["click-link", 'Click on the link "a".', ["text a", "link b", "link a"], ["click 3"]],
  ["click-option", "Select b and click Submit.", ["radio a", "radio b", "button Submit"], ["click 2", "click 3"]],
  [
    "click-scroll-list",
    "Select a, c from the scroll list and click Submit.",
    ["option a", "option b", "option c", "button Submit"],
    ["click 1", "click 3", "click 4"],
  ],
  [
    "click-shades",
    "Select all the shades of red.",
    ["text red", "text blue", "text red", "button Submit"],
    ["click 1", "click 3", "click 4"],
  ],
  ["click-tab", "Click on Tab #2.", ["tab Tab #1", "tab Tab #2"], ["click 2"]],
  ["click-test", "Click the button.", ["text a", "button b"], ["click 2"]],
  ["click-test-transfer", "Click button ONE.", ["button TWO", "button ONE"], ["click 2"]],
  ["click-test-2", "Click button ONE.", ["button TWO", "button ONE"], ["click 2"]],
  ["click-widget", 'Click on a "textarea" widget.', ["textbox", "textarea"], ["click 2"]],
  ["copy-paste", "Copy the text.", ["textarea =a b", "textbox", "button Submit"], ["type 2 a b", "click 3"]],
  [
    "copy-paste-2",
    "Copy the text from the 2nd text area below.",
    ["textarea =a", "textarea =b", "textbox", "button Submit"],
    ["type 3 b", "click 4"],
  ],
  ["enter-date", "Enter 10/02/2014 as the date.", ["textbox", "button Submit"], ["type 1 2014-10-02", "click 2"]],
  ["enter-password", 'Enter "x1".', ["textbox", "textbox", "button Submit"], ["type 1 x1", "type 2 x1", "click 3"]],
  ["enter-text", 'Enter "ab".', ["#textbox", "textbox", "button no", "button Submit"], ["type 1 ab", "click 3"]],
  ["enter-text-2", 'Type "aB" in all upper case letters.', ["textbox", "button Submit"], ["type 1 AB", "click 2"]],
  ["enter-text-2", 'Type "aB" in all lower case letters.', ["textbox", "button Submit"], ["type 1 ab", "click 2"]],
  ["enter-time", "Enter 3:05 PM.", ["textbox", "button Submit"], ["type 1 15:05", "click 2"]],
  ["enter-time", "Enter 12:30 AM.", ["textbox", "button Submit"], ["type 1 00:30", "click 2"]],
  ["find-word", "Find the 3rd word.", ["#text one two three, four.", "textbox", "button Submit"], ["type 1 three", "click 2"]],
  ["find-word", "Find the 12th word.", [`#text ${"a ".repeat(11)}U.S., b`, "textbox", "button OK"], ["type 1 U.S", "click 2"]],
  ["focus-text", "Focus.", ["button a", "textbox"], ["click 2"]],
  ["focus-text-2", "Focus into the 2nd input.", ["textbox", "textbox", "textbox"], ["click 2"]],
  [
    "form-sequence-2",
    'Check the 2nd radio button and enter the number "-7" into the 1st textbox.',
    ["radio a", "radio b", "textbox", "textbox", "button Submit"],
    ["click 2", "type 3 -7", "click 5"],
  ],
  [
    "login-user",
    'The user is "u", the password "p".',
    ["textbox", "textbox", "button Login"],
    ["type 1 u", "type 2 p", "click 3"],
  ],
  [
    "multi-layouts",
    "Search for comedy movies directed by Li Wu from year 1999.",
    ["#text Year:", "textbox", "#text Director name:", "textbox", "#text Genre", "textbox", "button Search"],
    ["type 1 1999", "type 2 Li Wu", "type 3 comedy", "click 4"],
  ],
  [
    "odd-or-even",
    "Odd or even?",
    ["#text 4", "button Odd", "button Even", "#text -3", "button Odd", "button Even", "button Submit"],
    ["click 2", "click 3", "click 5"],
  ],
  [
    "read-table",
    "Enter the value of City into the field.",
    ["#td Name", "#td Ana", "#td City", "#td Rome", "textbox", "button Submit"],
    ["type 1 Rome", "click 2"],
  ],
  [
    "read-table-2",
    "Enter the values.",
    ["#td Name", "#td Ana", "#td City", "#td Rome", "#label City:", "textbox", "#label Name", "textbox", "button Submit"],
    ["type 1 Rome", "type 2 Ana", "click 3"],
  ],
  [
    "social-media-all",
    'Click "Like" on all posts by @a and press Submit.',
    ["#text @a", "button like", "#text @b", "button like", "#text @a", "button like", "button Submit"],
    ["click 1", "click 3", "click 4"],
  ],
  [
    "social-media-some",
    'Click "Like" on 1 post by @a.',
    ["#text @a", "button like", "#text @a", "button like", "button Submit"],
    ["click 1", "click 3"],
  ],
  [
    "email-inbox-delete",
    "Delete the email by Ana and go back.",
    ["#text Bo", "button trash", "#text Ana", "button star", "button trash"],
    ["click 3"],
  ],
  ["text-transform", "Type the text.", ["#text a", "#text B", "textbox", "button Submit"], ["type 1 aB", "click 2"]],
])("%s: %s", (name, instruction, elements, acts) => {
  expect(played(name, instruction, page(...elements))).toEqual(acts);
});

test("pages of one form have one script", () => {
  const same = [
    ["click-checkboxes", "click-checkboxes-large", "click-checkboxes-transfer"],
    ["multi-layouts", "multi-orderings"],
  ];
  for (const [first = "", ...others] of same)
    for (const other of others) expect([other, experts[other]]).toEqual([other, experts[first]]);
  const link = page("tab a", "link b");
  for (const name of [
    "click-tab-2",
    "click-tab-2-easy",
    "click-tab-2-medium",
    "click-tab-2-hard",
    "click-collapsible-2",
    "click-collapsible-2-nodelay",
  ])
    expect([name, played(name, 'Find the link "b".', page("tab a"), link)]).toEqual([name, ["click 1", "click 2"]]);
  expect(played("enter-text-dynamic", 'Enter "ab".', page("textbox", "button Submit"))).toEqual(["type 1 ab", "click 2"]);
  expect(played("unicode-test", 'Click "é".', page("button e", "button é"))).toEqual(["click 2"]);
});

test("what a page does not show is acted on by the number that no element has", () => {
  expect(played("click-test", "Click.", [])).toEqual(["click 0"]);
  expect(played("enter-text", 'Enter "ab".', [])).toEqual(["type 0 ab", "click 0"]);
  expect(played("enter-password", "Enter it.", [])).toEqual(["type 0 ", "type 0 ", "click 0"]);
  expect(played("copy-paste", "Copy.", page("textbox", "button Submit"))).toEqual(["type 1 ", "click 2"]);
  expect(played("find-word", "Find the 9th word.", page("#text one", "textbox", "button Submit"))).toEqual([
    "type 1 ",
    "click 2",
  ]);
});

test.each(Object.keys(experts))("%s acts on nothing where the page and its instruction are empty", (name) => {
  for (const act of played(name, "", [])) expect(act).toMatch(/^(?:click 0$|type 0 )/);
});

test.each([
  ["x + 12 = 30", "18"],
  ["12 + x = 30", "18"],
  ["30 - x = -12", "42"],
  ["x + 3 = 10", "7"],
  ["x - 3 = 10", "13"],
  ["3 + x = -10", "-13"],
  ["3 - x = 10", "-7"],
])("simple-algebra: %s has x = %s", (problem, x) => {
  const shown = [{ role: "text", name: problem }, ...page("textbox", "button Submit")];
  expect(played("simple-algebra", "Solve for x.", shown)).toEqual([`type 1 ${x}`, "click 2"]);
});

test.each([
  ["3 + 4 =", "7"],
  ["13 + 44 =", "57"],
  ["-13 - 44 =", "-57"],
  ["3 * 12 =", "36"],
  ["3 - 4 =", "-1"],
  ["3 x -4 =", "-12"],
])("simple-arithmetic: %s %s", (problem, value) => {
  const shown = [{ role: "text", name: problem }, ...page("textbox", "button Submit")];
  expect(played("simple-arithmetic", "Solve.", shown)).toEqual([`type 1 ${value}`, "click 2"]);
});

test("what is hidden is searched for part by part, until the page shows it", () => {
  const closed = page("tab one", "tab two", "tab three");
  const open = page("tab one", "tab two", "tab three", "link a");
  expect(played("click-tab-2", 'Click the link "a".', closed, closed, open)).toEqual(["click 1", "click 2", "click 4"]);
  expect(played("click-tab-2", 'Click the link "a".', open)).toEqual(["click 4"]);
  // In no part: the click is on nothing.
  expect(played("click-tab-2", 'Click the link "a".', closed)).toEqual(["click 1", "click 2", "click 3", "click 0"]);
});
