import { expect, test } from "vitest";
import type { AssistantMessage, Message } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import type { Tool } from "../../src/tools/tool.ts";
import type { View } from "./play.ts";
import { blindPolicies, chancePolicy, guessedCall, guessedObject, talkingPolicies, toolOrder } from "./policies.ts";

const user = (content: string): Message => ({ role: "user", content });
const said = (content: string): AssistantMessage => ({ role: "assistant", content });
const called = (name: string): AssistantMessage => ({ role: "assistant", content: "", toolCalls: [{ name, arguments: {} }] });
const tool = (name: string, properties: object = {}): Tool => ({
  ...{ name, description: "", parameters: { type: "object", properties } as Tool["parameters"], execute: () => "" },
});
const view = (conversation: readonly Message[], tools: readonly Tool[] = []): View => ({ conversation, tools });
const text = { type: "string" };

test("arguments are guessed from the schema, the request and the last results", () => {
  const conversation = [
    user("Ask Cleo about 7 and 08:15 for Ben."),
    { role: "tool", name: "find", content: '[{"id":"e1"},{"id":"e2"}]' } as const,
    { role: "tool", name: "find", content: '{"id":"e3"}' } as const,
    said('{"id":"of no result"}'),
  ];
  const schema = {
    type: "object",
    properties: {
      fixed: { const: "always" },
      chosen: { enum: ["one", "two"] },
      any: { anyOf: [{ type: "boolean" }, text] },
      none: { type: "array" },
      many: { type: "array", items: text },
      inner: { type: "object", properties: { name: text } },
      flag: { type: "boolean" },
      count: { type: "integer" },
      share: { type: "number" },
      // Ids are those of the last results; a key that only ends so is what the request names.
      ...{ event_id: text, "event id": text, id: text, contact: text, idea: text, time: text, name: text },
    },
  };
  expect(guessedObject(schema, conversation)).toEqual({
    ...{ fixed: "always", chosen: "one", any: false, none: [], many: ["Cleo"], inner: { name: "Cleo" } },
    ...{
      flag: false,
      count: 7,
      share: 7,
      event_id: "Cleo",
      "event id": "e3",
      id: "e3",
      contact: "e3",
      idea: "Cleo",
      time: "08:15",
      name: "Cleo",
    },
  });
  const bare = { properties: { count: { type: "integer" }, id: text, name: text } };
  expect(guessedObject(bare, [user("so it is")])).toEqual({ count: 1, id: "a1", name: "so it is" });
  expect(guessedObject({}, [])).toEqual({});
  expect(guessedCall(tool("find", { name: text }), conversation)).toEqual({ name: "find", arguments: { name: "Cleo" } });
});

test.each([
  ["Where is B12?", "B12"],
  ["Write to ana.b+c@mail.example now", "ana.b+c@mail.example"],
  ["Order AB-7 of Ana", "AB-7"],
  ["Is x9-b2 there", "x9-b2"],
  // A word that begins the text is a name where there is no other.
  ["Ana is here", "Ana"],
  ["Ask Ana", "Ana"],
  ["nothing", "nothing"],
])("of the request %j the guess is %j", (request, guess) => {
  expect(guessedObject({ properties: { what: text } }, [user("Old Ben"), user(request)])).toEqual({ what: guess });
});

test("a random guess is one of all, and the same for the same stream", () => {
  const schema = { properties: { when: { enum: ["a", "b", "c"] }, flag: { type: "boolean" }, n: { type: "integer" } } };
  const guesses = Array.from({ length: 60 }, (_, i) => guessedObject(schema, [user("2 or 3")], randomStream(0, "test", i)));
  const values = (key: string) => [...new Set(guesses.map((guess) => guess[key]))].sort();
  expect([values("when"), values("flag"), values("n")]).toEqual([
    ["a", "b", "c"],
    [false, true],
    [1, 2, 3],
  ]);
  expect(guessedObject(schema, [user("2 or 3")], randomStream(0, "test", 5))).toEqual(guesses[5]);
});

test("blind policies say what needs no understanding", () => {
  const answers = blindPolicies
    .slice(0, -1)
    .map(({ name, script }) => [name, script("t", [])(view([user("Find Ana and Ben.")]))]);
  expect(answers).toEqual([
    ["does nothing and says nothing", said("")],
    ['does nothing, always "Done."', said("Done.")],
    ["always asks", said("Which one?")],
    ["always apologises", said("Sorry, I cannot.")],
    ["always refuses by name", said("Sorry, I cannot find Ana Ben.")],
    ["repeats what the user says", said("Find Ana and Ben.")],
  ]);
  expect(blindPolicies.at(-1)?.name).toBe("random calls and words");
});

test("random calls and words are of both kinds, the same for a task, and words alone without tools", () => {
  const random = blindPolicies.at(-1);
  if (random === undefined) throw new Error("none");
  const play = (task: string, tools: readonly Tool[]) => {
    const script = random.script(task, []);
    return Array.from({ length: 200 }, () => script(view([user("Find Ana.")], tools)));
  };
  const [answers, again] = [play("a", [tool("x"), tool("y")]), play("a", [tool("x"), tool("y")])];
  expect(again).toEqual(answers);
  expect(play("b", [tool("x"), tool("y")])).not.toEqual(answers);
  const calls = answers.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => name));
  // Seven of ten are calls: 140 of 200, with a standard error of 6.5.
  expect(Math.abs(calls.length - 140)).toBeLessThan(26);
  expect([...new Set(calls)].sort()).toEqual(["x", "y"]);
  const words = new Set(play("a", []).map(({ content }) => content));
  expect([...words].sort()).toEqual(["Done.", "Find Ana.", "Sorry, I cannot.", "Which one?"]);
});

test("chance names one of the request's names and numbers, or nothing where there is none", () => {
  const names = (request: string) => {
    const all = Array.from({ length: 100 }, (_, i) => chancePolicy.script(`t${i}`, [])(view([user(request)])).content);
    return [...new Set(all)].sort();
  };
  expect(names("Does Ana-Lee or Örs pay 3 or 1,200.5 at 08:15?")).toEqual(["08:15", "1,200.5", "3", "Ana-Lee", "Does", "Örs"]);
  expect(names("who is it?")).toEqual([""]);
  expect(chancePolicy.script("t", [])(view([])).content).toBe("");
});

/** What a policy does in a row over these conversations. */
const played = (name: string, expert: readonly Message[], ...conversations: readonly (readonly Message[])[]) => {
  const policy = talkingPolicies.find((each) => each.name === name);
  if (policy === undefined) throw new Error(`no ${name}`);
  const script = policy.script("t", expert);
  return conversations.map((conversation) => script(view(conversation)));
};
const expert = [
  user("Move Demo."),
  called("find"),
  { role: "tool", name: "find", content: "x" } as const,
  said("Which day?"),
  said("Moved."),
];

test.each([
  ['acts as the expert, always closes with "Done."', "Done."],
  ["acts as the expert, always apologises", "Sorry, I cannot."],
  ['acts as the expert, always "Done. Sorry, I cannot."', "Done. Sorry, I cannot."],
  ["acts as the expert, says nothing", ""],
  ["acts as the expert, repeats the request", "Move Demo."],
])("a policy that %s keeps calls and questions", (name, closing) => {
  const conversation = [user("Move Demo.")];
  expect(played(name, expert, ...Array(4).fill(conversation))).toEqual([
    called("find"),
    said("Which day?"),
    said(closing),
    // The expert has said all: nothing more is closed with the same words.
    said(closing),
  ]);
});

test("a policy that asks before everything asks once for each request", () => {
  const name = "acts as the expert, asks before everything";
  const asked = [user("Move Demo."), said("Which one?"), user("The first.")];
  expect(
    played(name, expert, [user("Move Demo.")], asked, [...asked, called("find"), { role: "tool", name: "find", content: "x" }]),
  ).toEqual([said("Which one?"), called("find"), said("Which day?")]);
  // A further request is a new one, the same again is none.
  expect(played(name, expert, [user("a")], [user("a")], [user("b")])).toEqual([
    said("Which one?"),
    called("find"),
    said("Which one?"),
  ]);
});

test("a policy that does nothing says what the expert says", () => {
  const name = "says what the expert says, does nothing";
  expect(played(name, expert, [], [], [])).toEqual([said("Which day?"), said("Moved."), said("")]);
});

test("tools are called in one order for each request, then it is repeated", () => {
  const script = toolOrder(["x", "gone", "y"]);
  const tools = [tool("y"), tool("x", { what: text })];
  const first = [user("Ask Ana")];
  const later = [...first, called("x"), { role: "tool", name: "x", content: "ok" } as const];
  expect(script(view(first, tools))).toEqual({
    role: "assistant",
    content: "",
    toolCalls: [{ name: "x", arguments: { what: "Ana" } }],
  });
  expect(script(view(later, tools))).toEqual(said("Ask Ana"));
  expect(script(view(later, tools)).toolCalls?.[0]?.name).toBe("y");
  expect(script(view(later, tools))).toEqual(said("Ask Ana"));
  expect(script(view([...later, user("Again")], tools)).toolCalls?.[0]?.name).toBe("x");
});
