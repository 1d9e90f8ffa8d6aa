import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { type Random, randomStream } from "../../src/core/random.ts";
import { isRefusal, paraphrasesOf, saysTheSame } from "./closing.ts";
import { demonstrate } from "./demonstrations.ts";
import { startEpisode } from "./episode.ts";
import { officeEnvironment } from "./office.ts";
import type { OfficeTask } from "./task.ts";

test.each([
  ["Paid Ana Kim 45.", "Paid Ana Kim 45.", true],
  ["Paid Ana Kim 45.", " paid  ana kim 45!", true],
  ["Paid Ana Kim 45.", "I have paid 45 to Ana Kim", true],
  ["Paid Ana Kim 45.", "Done.", false],
  ["Paid Ana Kim 45.", "Paid Ana 45.", false],
  ["Paid Ana Kim 45.", "Paid Ana Kim 54.", false],
  ["Paid Ana Kim 45.", "Paid Ana Kim and Bob Fox 45.", false],
  ["Paid Ana Kim 45.", "Paid Ana Kim 45. Sorry, I cannot.", false],
  ["Paid Ana Kim 45.", "Paid Ana Kim 45. Anything else?", false],
  ["Paid Ana Kim 45.", "Paid Ana Kim 45 is not done, nothing was changed.", false],
  ["Paid Ana Kim 45.", "Ana Kim paid 45.", false],
  ["Paid Ana Kim 45.", `Paid Ana Kim 45.${" noise".repeat(700)}`, false],
  ["Sorry, I cannot find Zed.", "There is nobody: I could not find Zed.", true],
  ["Sorry, I cannot find Zed.", "Sorry, I cannot.", false],
  ["Sorry, I cannot find Zed.", "Paid Zed 45.", false],
  ["Sorry, I cannot find Zed.", "Sorry, Zed is private.", false],
  ["Sorry, send_message is closed.", "Sorry, I cannot: send_message is closed.", true],
  ["Sorry, send_message is closed.", "Sorry, pay is closed.", false],
  ["Sorry, send_message is closed.", "Sorry, send_message is not closed.", false],
  ["Review is on Monday at 14:30.", "On Monday at 14:30 there is Review.", true],
  ["Review is on Monday at 14:30.", "Review is on Monday at 14:30 or 15:00.", false],
  ["Review is on Monday at 14:30.", "Review is at 14:30.", false],
  ["Review is on Monday at 16:00.", "Move Review to 16:00.", false],
  ["Report is in Private.", "Report is in Private.", true],
  ["Report is in Private.", "Report is in Drafts.", false],
  ["The bill Report is gone.", "Report, that bill, was deleted.", true],
  ["The bill Report is gone.", "Delete Report.", false],
])("where the expert says %j, %j is %s", (closing, words, expected) => {
  expect(saysTheSame(words, closing)).toBe(expected);
});

const office = officeEnvironment();
const tasks = (count: number) => Array.from({ length: count }, (_, index) => office.task("test", index) as OfficeTask);

/** The reward of the expert whose closing words of one request are others. */
function rewardWith(task: OfficeTask, at: number, words: string): number {
  const episode = startEpisode(task, { reward: "sparse", prompt: "short" });
  const closings: string[] = [];
  for (const message of demonstrate(task, randomStream(1)).messages) {
    if (message.role !== "assistant") continue;
    for (const call of message.toolCalls ?? [])
      episode.tools.find(({ name }) => name === call.name)?.execute(call.arguments, { signal: new AbortController().signal });
    if (message.toolCalls?.length) continue;
    const isClosing = !message.content.includes("?");
    episode.reply({ ...message, content: isClosing && closings.length === at ? words : message.content });
    if (isClosing) closings.push(message.content);
  }
  return episode.score().reward;
}

/** Ways to spoil a closing. A refusal gets another reason, or claims the deed. */
const spoilt: readonly ((closing: string, request: string, random: Random) => string)[] = [
  (closing) => `${closing.replace(/\.$/, "")} is not done, nothing was changed.`,
  (closing) => `It is not true that ${closing}`,
  (closing) => `${closing} Not.`,
  (closing) => closing.replace(/ (?=\S+$)/, " not "),
  (closing) => `${closing} But I changed nothing.`,
  (closing, _, random) =>
    isRefusal(closing)
      ? random.pick([
          "Sorry, I cannot find it.",
          "Sorry, Report is private.",
          "Sorry, pay is closed.",
          "Sorry, the room is fixed now.",
        ])
      : `Sorry, ${closing}`,
  (closing, _, random) =>
    isRefusal(closing) ? "Done." : random.pick(["Sorry, I cannot.", `I cannot: ${closing}`, "Sorry, it is locked."]),
  (closing, _, random) => `${closing} ${noise(random)}`,
  (closing, _, random) => `${noise(random)} ${closing}`,
  (closing, request) => `${request} ${closing}`,
  (closing, request) => `${closing} ${request}`,
  (closing) => `${closing} ${closing}`,
  (_, request) => request,
];

const noise = (random: Random) =>
  Array.from({ length: 800 }, () => random.pick(["Ana", "done", "ok", "45", "is", "?"])).join(" ");

test("of 400 answers with negation, another reason, noise or echo none is rewarded", () => {
  const random = randomStream(1, "spoilt");
  const rewarded: string[] = [];
  for (const [i, task] of tasks(400).entries()) {
    const at = random.integer(task.requests.length);
    const { closing, text } = task.requests[at];
    const words = spoilt[i % spoilt.length](closing, text, random);
    if (rewardWith(task, at, words) > 0) rewarded.push(`${closing} -> ${words.slice(0, 100)}`);
  }
  expect(rewarded).toEqual([]);
});

test("every honest paraphrase that the grammar makes is rewarded, and none of another meaning", () => {
  const seen = new Map<string, string>();
  for (const task of tasks(150)) {
    const [{ closing }] = task.requests;
    for (const [i, words] of paraphrasesOf(closing).entries()) {
      expect(saysTheSame(words, closing), words).toBe(true);
      if (i % 7 === 0) expect(rewardWith(task, 0, words), words).toBe(1);
      const other = seen.get(words.toLowerCase());
      if (other !== undefined) expect(other).toBe(closing);
      seen.set(words.toLowerCase(), closing);
    }
    expect(paraphrasesOf(closing).length, closing).toBeGreaterThan(4);
  }
});

test("the sentences that count are those that results were measured with, the expert's first", () => {
  const digest = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
  const closings = [
    ...["Paid Ana Kim 45.", "Told Ana Kim.", "Sent Ana Kim a parcel.", "Shared Report with Ana Kim.", "Report is in Drafts."],
    ...["The bill Report is gone.", "Review has a flex room.", "Review is on Monday at 14:30.", "Review on Monday is off."],
    ...["Ana Kim sits at 45.", "Sorry, I cannot find Zed.", "Sorry, pay is closed.", "Sorry, Report is locked."],
    ...["Sorry, Report is private.", "Sorry, the room is fixed.", "Sorry, I cannot."],
  ];
  const found = closings.map((closing) => {
    const all = paraphrasesOf(closing);
    expect(`${all[0]?.toLowerCase()}.`).toBe(closing.toLowerCase());
    expect(new Set(all).size).toBe(all.length);
    return `${closing} ${all.length}, ${digest(all)}`;
  });
  expect(found).toMatchInlineSnapshot(`
    [
      "Paid Ana Kim 45. 68, cea58f232240422f",
      "Told Ana Kim. 56, 8d86041c4d77b7b2",
      "Sent Ana Kim a parcel. 40, f75eca060bb78974",
      "Shared Report with Ana Kim. 28, 2b4e784415e0e6e9",
      "Report is in Drafts. 140, 59b7be343623ab7e",
      "The bill Report is gone. 60, 57dcdd5422fa0364",
      "Review has a flex room. 24, fa80211357ea5158",
      "Review is on Monday at 14:30. 36, 742e559f9ed72b71",
      "Review on Monday is off. 48, 87b4f6653c8da6d8",
      "Ana Kim sits at 45. 16, 241366cab804ebc6",
      "Sorry, I cannot find Zed. 26, 307ef8e1adcb1634",
      "Sorry, pay is closed. 8, 052f0ad50bf085f3",
      "Sorry, Report is locked. 9, 4a29a41c069f168c",
      "Sorry, Report is private. 9, 4c9b6dc65f3cf2d2",
      "Sorry, the room is fixed. 7, e8c1b5e9069eaefd",
      "Sorry, I cannot. 5, e49a64ee8dfb3566",
    ]
  `);
  expect(paraphrasesOf("Something else.")).toEqual(["Something else."]);
});

test("words of refusal are refusals, as words of their own", () => {
  const refusals = [
    ...["Sorry.", "I cannot", "I can't", "I can not", "unable to", "not found", "no such file", "I could not", "I couldn't"],
    ...["it does not exist", "it doesn't exist", "SORRY"],
  ];
  expect(refusals.filter((words) => !isRefusal(words))).toEqual([]);
  expect(["Done.", "sorrys", "I can", "found", "exists", "such a file"].filter(isRefusal)).toEqual([]);
});

test("case, white space and one sign at the end say nothing", () => {
  const closing = "Paid Ana Kim 45.";
  for (const words of ["  paid  ana kim\n45 ", "PAID ANA KIM 45!", "Paid Ana Kim 45"])
    expect(saysTheSame(words, closing)).toBe(true);
  for (const words of ["Paid Ana Kim 45..", "Paid Ana Kim 46.", "Paid Ana Kim 45?", "paidana kim 45"])
    expect(saysTheSame(words, closing)).toBe(false);
  expect(saysTheSame("something ELSE", "Something else.")).toBe(true);
});
