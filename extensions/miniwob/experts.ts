import type { Act, Shown } from "./page.ts";

/** A script that plays a page: it yields an action and is given what the page shows then. It reads only what a model reads. */
export type Script = (instruction: string, first: readonly Shown[]) => Generator<Act, void, readonly Shown[]>;

/** A click on an element. One that is not there has the number 0, which no element has. */
const clickOn = (element: Shown | undefined): Act => ({ kind: "click", ref: element?.ref ?? 0 });
const click = (shown: readonly Shown[], role: string | readonly string[], name?: string | RegExp): Act =>
  clickOn(all(shown, role, name)[0]);
const type = (shown: readonly Shown[], at: number, text: string): Act => ({
  kind: "type",
  ref: all(shown, ["textbox", "textarea"])[at]?.ref ?? 0,
  text,
});

function all(shown: readonly Shown[], roles: string | readonly string[], name?: string | RegExp): Shown[] {
  const fits = (each: Shown) => name === undefined || (typeof name === "string" ? each.name === name : name.test(each.name));
  return shown.filter((each) => each.ref !== undefined && [roles].flat().includes(each.role) && fits(each));
}

/** The texts in quotation marks. */
const quoted = (text: string) => [...text.matchAll(/"([^"]*)"/g)].map(([, each = ""]) => each);
const after = (text: string, pattern: RegExp) => pattern.exec(text)?.[1] ?? "";

const submit = (shown: readonly Shown[]) => click(shown, "button", /^submit$/i);

/** Types texts into the fields in their order, then presses a button. */
function fill(
  textsOf: (instruction: string, shown: readonly Shown[]) => readonly string[],
  button = /^(submit|login|ok)$/i,
): Script {
  return function* (instruction, shown) {
    for (const [i, text] of textsOf(instruction, shown).entries()) yield type(shown, i, text);
    yield click(shown, "button", button);
  };
}

/** Clicks one after another, each found in the page as it is then. */
function clicks(...targets: ((instruction: string, shown: readonly Shown[]) => Act)[]): Script {
  return function* (instruction, first) {
    let shown = first;
    for (const target of targets) shown = yield target(instruction, shown);
  };
}

const listed = (instruction: string) => after(instruction, /^Select (.*) and click Submit\.?$/).split(", ");

const checkboxes: Script = function* (instruction, shown) {
  for (const name of listed(instruction)) if (name !== "nothing") yield click(shown, "checkbox", name);
  yield submit(shown);
};

/** Opens parts of a page until it shows a link. */
function searching(role: string): Script {
  return function* (instruction, first) {
    const [name = ""] = quoted(instruction);
    let shown = first;
    const count = all(shown, role).length;
    for (let i = 0; all(shown, "link", name).length === 0 && i < count; i++) shown = yield clickOn(all(shown, role)[i]);
    yield click(shown, "link", name);
  };
}

/** Clicks the first element of a role that the instruction quotes. */
const quotedOne = (role: string) => clicks((instruction, shown) => click(shown, role, quoted(instruction)[0]));

function cell(shown: readonly Shown[], name: string): string {
  const cells = shown.filter(({ role }) => role === "td").map((each) => each.name);
  return cells[cells.indexOf(name) + 1] ?? "";
}

/** The value of "3 + 4", "3 - 4" or "3 x 4". */
function calculated(a: number, sign: string, b: number): number {
  return sign === "+" ? a + b : sign === "-" ? a - b : a * b;
}

/** x of "a ± x = b", "x ± a = b". */
function solved(problem: string): number {
  const [, first = "", sign = "", second = "", result = ""] = /(-?\w+) ([-+x*]) (-?\w+) = (-?\d+)/.exec(problem) ?? [];
  const value = Number(result);
  if (first === "x") return sign === "+" ? value - Number(second) : value + Number(second);
  return sign === "+" ? value - Number(first) : Number(first) - value;
}

const movie: Script = function* (instruction, shown) {
  const [, genre = "", director = "", year = ""] = /for (.*?) movies directed by (.*?) from year (\d+)/.exec(instruction) ?? [];
  const textOf = (label: string) => (/genre/i.test(label) ? genre : /director/i.test(label) ? director : year);
  const labels = shown.filter(({ name }) => /^(movie )?genre:?$|^director( name)?:?$|^year:?$|^released date$/i.test(name));
  for (const [i, { name }] of labels.entries()) yield type(shown, i, textOf(name));
  yield click(shown, ["button", "text"], /^(submit|search|go!)$/i);
};

/** @param which of the text areas, from 1 */
function copy(which: (instruction: string) => number): Script {
  return function* (instruction, shown) {
    const text = all(shown, "textarea")[which(instruction) - 1]?.value ?? "";
    yield { ...click(shown, "textbox"), kind: "type", text };
    yield submit(shown);
  };
}

/** The pages that are played, each with a script that earns reward 1 on every seed. */
export const experts: Readonly<Record<string, Script>> = {
  "choose-list": clicks(
    (instruction, shown) => click(shown, "option", after(instruction, /^Select (.*) from the list/)),
    (_, shown) => submit(shown),
  ),
  "click-button": quotedOne("button"),
  "click-button-sequence": clicks(
    (_, shown) => click(shown, "button", "ONE"),
    (_, shown) => click(shown, "button", "TWO"),
  ),
  "click-checkboxes": checkboxes,
  "click-checkboxes-large": checkboxes,
  "click-checkboxes-transfer": checkboxes,
  "click-collapsible-2": searching("tab"),
  "click-collapsible-2-nodelay": searching("tab"),
  "click-color": clicks((instruction, shown) => click(shown, "text", after(instruction, /the (\w+) colored/))),
  "click-dialog": clicks((_, shown) => click(shown, "button", /close/i)),
  "click-dialog-2": clicks((instruction, shown) => {
    const [name = ""] = quoted(instruction);
    return click(shown, "button", name === "x" ? /close/i : name);
  }),
  "click-link": quotedOne("link"),
  "click-option": clicks(
    (instruction, shown) => click(shown, "radio", listed(instruction)[0]),
    (_, shown) => submit(shown),
  ),
  "click-scroll-list": function* (instruction, shown) {
    for (const name of after(instruction, /^Select (.*) from the scroll list/).split(", ")) yield click(shown, "option", name);
    yield submit(shown);
  },
  "click-shades": function* (instruction, shown) {
    for (const each of all(shown, "text", after(instruction, /shades of (\w+)/))) yield clickOn(each);
    yield submit(shown);
  },
  "click-tab": clicks((instruction, shown) => click(shown, "tab", after(instruction, /Click on (Tab #\d)/))),
  "click-tab-2": searching("tab"),
  "click-tab-2-easy": searching("tab"),
  "click-tab-2-medium": searching("tab"),
  "click-tab-2-hard": searching("tab"),
  "click-test": clicks((_, shown) => click(shown, "button")),
  "click-test-2": clicks((_, shown) => click(shown, "button", "ONE")),
  "click-test-transfer": clicks((_, shown) => click(shown, "button", "ONE")),
  "click-widget": clicks((instruction, shown) => {
    const [widget = ""] = quoted(instruction);
    return click(shown, widget === "text" ? "textbox" : widget);
  }),
  "copy-paste": copy(() => 1),
  "copy-paste-2": copy((instruction) => Number(after(instruction, /the (\d)\w\w text area/))),
  "email-inbox-delete": function* (instruction, shown) {
    yield clickOn(buttonsOf(shown, after(instruction, /email by (\S+) and/), "trash")[0]);
  },
  "enter-date": fill((instruction) => {
    const [, month, day, year] = /(\d+)\/(\d+)\/(\d+)/.exec(instruction) ?? [];
    return [`${year}-${month}-${day}`];
  }),
  "enter-password": fill((instruction) => [quoted(instruction)[0] ?? "", quoted(instruction)[0] ?? ""]),
  "enter-text": fill(quoted),
  "enter-text-2": fill((instruction) =>
    quoted(instruction).map((text) => (/upper case/.test(instruction) ? text.toUpperCase() : text.toLowerCase())),
  ),
  "enter-text-dynamic": fill(quoted),
  "enter-time": fill((instruction) => {
    const [, hour, minute, half] = /(\d+):(\d+) (AM|PM)/.exec(instruction) ?? [];
    return [`${String((Number(hour) % 12) + (half === "PM" ? 12 : 0)).padStart(2, "0")}:${minute}`];
  }),
  "find-word": fill((instruction, shown) => {
    const words = (shown.find(({ role }) => role === "text")?.name ?? "").split(" ");
    return [(words[Number(after(instruction, /the (\d+)/)) - 1] ?? "").replace(/[.,]+$/, "")];
  }),
  "focus-text": clicks((_, shown) => click(shown, "textbox")),
  "focus-text-2": clicks((instruction, shown) => clickOn(all(shown, "textbox")[Number(after(instruction, /the (\d)/)) - 1])),
  "form-sequence-2": function* (instruction, shown) {
    const [, radio, text = "", box] =
      /the (\d)\w\w radio button and enter the number "(-?\d+)" into the (\d)/.exec(instruction) ?? [];
    yield clickOn(all(shown, "radio")[Number(radio) - 1]);
    yield type(shown, Number(box) - 1, text);
    yield submit(shown);
  },
  "login-user": fill(quoted),
  "multi-layouts": movie,
  "multi-orderings": movie,
  "odd-or-even": function* (_, first) {
    const numbers = first.filter(({ role, name }) => role === "text" && /^-?\d+$/.test(name));
    for (const [i, { name }] of numbers.entries()) {
      const buttons = all(first, "button", Number(name) % 2 === 0 ? "Even" : "Odd");
      yield clickOn(buttons[i]);
    }
    yield submit(first);
  },
  "read-table": fill((instruction, shown) => [cell(shown, after(instruction, /value of (.*) into/))]),
  "read-table-2": fill((_, shown) =>
    shown.filter(({ role }) => role === "label").map(({ name }) => cell(shown, name.replace(/:$/, ""))),
  ),
  "simple-algebra": fill((_, shown) => [String(solved(shown.find(({ name }) => / = -?\d/.test(name))?.name ?? ""))]),
  "simple-arithmetic": fill((_, shown) => {
    const [, a, sign = "", b] = /(-?\d+) ([-+x*]) (-?\d+) =/.exec(shown.find(({ name }) => / =$/.test(name))?.name ?? "") ?? [];
    return [String(calculated(Number(a), sign, Number(b)))];
  }),
  "social-media-all": function* (instruction, shown) {
    const [button = ""] = quoted(instruction);
    const user = after(instruction, /posts by (@\w+)/);
    for (const each of buttonsOf(shown, user, button)) yield clickOn(each);
    yield submit(shown);
  },
  "social-media-some": function* (instruction, shown) {
    const [button = ""] = quoted(instruction);
    const [, count, user = ""] = /on (\d+) posts? by (@\w+)/.exec(instruction) ?? [];
    for (const each of buttonsOf(shown, user, button).slice(0, Number(count))) yield clickOn(each);
    yield submit(shown);
  },
  "text-transform": fill((_, shown) => [
    shown
      .filter(({ role }) => role === "text")
      .map(({ name }) => name)
      .join(""),
  ]),
  "unicode-test": quotedOne("button"),
};

/** Buttons of that name below the name of a person. */
function buttonsOf(shown: readonly Shown[], person: string, button: string): Shown[] {
  let of: string | undefined;
  return shown.filter(({ ref, name }) => {
    if (name === person || name.startsWith("@") || name === "") of = name;
    const found = of === person && ref !== undefined && name === button.toLowerCase();
    if (found && !person.startsWith("@")) of = undefined;
    return found;
  });
}
