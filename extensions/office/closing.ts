import { present } from "../../src/core/present.ts";
import { fill, sentencesOf } from "./grammar.ts";

/** True for words that say that something was not done. */
export function isRefusal(words: string): boolean {
  return /\b(sorry|cannot|can't|can not|unable|not found|no such|could not|couldn't|does not exist|doesn't exist)\b/i.test(words);
}

/** Said around a claim. */
const claimed = (patterns: readonly string[]) =>
  patterns.flatMap((pattern) => [pattern, `(done|all right): ${pattern}`, `${pattern} now`]);
/** Said around a refusal, whose first pattern is the expert's. */
const refused = (reason: string, ...more: readonly string[]) => [
  `sorry, ${reason}`,
  `(sorry|sorry, but|I am sorry,|I am sorry, but) ${reason}`,
  ...more,
];

/**
 * Sentences that can end a request, one list a meaning, the expert's words first. A closing is right if it is one of those of the expert's
 * meaning: whatever else it has, a negation, another reason, a repetition or noise, makes it another sentence.
 */
const meanings: readonly (readonly string[])[] = [
  claimed([
    "paid {name} {amount}",
    "(|I |I have )(paid|sent) {amount} to {name}",
    "(I|I have) (paid|sent) {name} {amount}",
    "{name} (has|got) {amount}",
    "{amount} (was|were) (paid|sent) to {name}",
  ]),
  claimed([
    "told {name}",
    "(I|I have) told {name}",
    "(|I |I have )(written|wrote|sent it) to {name}",
    "{name} (was told|has the message)",
  ]),
  claimed([
    "sent {name} a parcel",
    "(I|I have) sent {name} a parcel",
    "(|I |I have )sent a parcel to {name}",
    "(a|the) parcel (was sent|is on its way) to {name}",
  ]),
  claimed([
    "shared {file} with {name}",
    "(I|I have) shared {file} with {name}",
    "{file} (is|was) shared with {name}",
    "{name} (has|got) {file}",
  ]),
  claimed([
    "{file} is in {folder}",
    "(|I |I have )(put|filed|moved) {file} (in|into) {folder}",
    "{file} (was|went) (put |filed |moved |)(in|into) {folder}",
  ]),
  claimed([
    "the {type} {file} is gone",
    "(the {type} {file}|{file}, that {type},|{file}, the {type},) (is|was) (gone|deleted)",
    "(|I |I have )deleted the {type} {file}",
  ]),
  claimed([
    "{event} has a {rate} room",
    "(|I |I have )booked a {rate} room for {event}",
    "a {rate} room (is|was) booked for {event}",
  ]),
  claimed([
    "{event} is on {day} at {time}",
    "{event} (|is )(|now )on {day} at {time}",
    "on {day} at {time} there is {event}",
    "(|I |I have )moved {event} to {day} at {time}",
    "{event}: {day}, {time}",
  ]),
  claimed([
    "{event} on {day} is off",
    "(|I |I have )(cancelled|canceled) {event} on {day}",
    "{event} on {day} (is|was) (cancelled|canceled|off)",
  ]),
  claimed(["{name} sits at {desk}", "{name} (sits at|has) desk {desk}", "the desk of {name} is {desk}"]),
  refused(
    "I cannot find {name}",
    "(|sorry, )(I could not|I can't|I couldn't) find {name}",
    "(|sorry, )(there is no|there is nobody called|nobody is called|nothing is called) {name}",
    "there is nobody: I could not find {name}",
    "(|sorry, ){name} (was not found|is not there|does not exist)",
  ),
  refused("{tool} is closed", "(sorry, |)I cannot: {tool} is closed", "{tool} is closed today"),
  refused("{file} is locked", "(sorry, |)I cannot delete {file}: it is locked", "(sorry, |){file} is locked and stays"),
  refused("{file} is private", "(sorry, |)I cannot share {file}: it is private", "(sorry, |){file} is private and stays so"),
  refused("the room is fixed", "(sorry, |)I cannot move it: the room is fixed"),
  refused("I cannot"),
].map((patterns) => [...new Set(patterns.flatMap(sentencesOf))]);

/** Every way of saying what the expert says, the expert's first. */
export function paraphrasesOf(closing: string): readonly string[] {
  for (const sentences of meanings) {
    const first = present(sentences[0], "the expert's sentence");
    const gaps = shapeOf(first).exec(closing)?.groups;
    if (gaps !== undefined || plain(closing) === plain(first)) return sentences.map((sentence) => fill(sentence, gaps ?? {}));
  }
  return [closing];
}

/** True if the words are one of the ways to say what the expert says, up to case, white space and the full stop. */
export function saysTheSame(words: string, closing: string): boolean {
  const said = plain(words);
  return said === plain(closing) || paraphrasesOf(closing).some((sentence) => plain(sentence) === said);
}

const shapes = new Map<string, RegExp>();

function shapeOf(sentence: string): RegExp {
  const shape = shapes.get(sentence) ?? new RegExp(`^${sentence.replace(/\{(\w+)\}/g, "(?<$1>.+)")}\\.$`, "i");
  shapes.set(sentence, shape);
  return shape;
}

function plain(text: string): string {
  return text.trim().toLowerCase().replace(/\s+/g, " ").replace(/[.!]$/, "");
}
