import type { Operation } from "./word-problems.ts";

interface Wordings {
  /** {a} and {b} are the numbers in the operation's order; {name}, {other} and {thing} are drawn. */
  readonly stories: readonly string[];
  readonly questions: readonly string[];
}

/**
 * Texts of word problems: 12 stories × 5 questions an operation in training, and 4 × 1 that no training task has. No story of one half has a
 * sentence of the other.
 */
export const wordings: Readonly<Record<Operation, { readonly seen: Wordings; readonly unseen: Wordings }>> = {
  "+": {
    seen: {
      stories: [
        "{name} has {a} {thing} and buys {b} more.",
        "{name} finds {a} {thing} in the garden and {b} in the house.",
        "There are {a} {thing} in a box. {name} puts in another {b}.",
        "{name} collected {a} {thing} on Monday and {b} on Tuesday.",
        "{name} gets {b} {thing} from {other} and had {a} before.",
        "A shelf holds {a} {thing}. {b} new {thing} arrive.",
        "{name} brings {a} {thing}. {other} brings {b}, and they put them together.",
        "{name} starts with {a} {thing} and wins {b}.",
        "In a basket lie {a} {thing}. {name} adds {b}.",
        "{a} {thing} are on the table and {b} are in the bag.",
        "{name} receives {a} {thing} in spring and {b} in summer.",
        "After {name} was given {b} {thing}, they joined the {a} that were there.",
      ],
      questions: [
        "How many {thing} are there now?",
        "How many {thing} is that in total?",
        "How many {thing} are there altogether?",
        "How many {thing} does that make?",
        "What is the number of {thing}?",
      ],
    },
    unseen: {
      stories: [
        "{name} owns {a} {thing}, and {other} owns {b}. They count theirs as one pile.",
        "A child gathers {a} {thing} before lunch and {b} after lunch.",
        "To a heap of {a} {thing} come {b} extra ones.",
        "One drawer has {a} {thing}, the other drawer has {b}.",
      ],
      questions: ["How many {thing} in all?"],
    },
  },
  "-": {
    seen: {
      stories: [
        "{name} has {a} {thing} and gives {b} to {other}.",
        "{name} had {a} {thing} and lost {b}.",
        "There are {a} {thing} in a box. {name} takes out {b}.",
        "{name} buys {a} {thing}. {b} of them break.",
        "{name} sells {b} of the {a} {thing} on the shelf.",
        "A shop has {a} {thing}. {b} are sold on Monday.",
        "From {a} {thing} {name} throws {b} away.",
        "{b} of {a} {thing} belong to {other}. The others belong to {name}.",
        "{name} needs {a} {thing} and has {b} so far.",
        "{name} has {a} {thing}, and {other} has {b}.",
        "A basket had {a} {thing} until {name} removed {b}.",
        "{name} used {b} {thing} and started with {a}.",
      ],
      questions: [
        "How many {thing} remain?",
        "How many {thing} are left?",
        "What is the difference in {thing}?",
        "How many {thing} does {name} have without those?",
        "How many more {thing} is that?",
      ],
    },
    unseen: {
      stories: [
        "Of {a} {thing} on the floor, a dog carries {b} off.",
        "{name} donates {b} {thing} out of a collection of {a}.",
        "{a} {thing} were in the drawer. Now {b} fewer are there.",
        "{name} pays with {b} of {a} {thing}.",
      ],
      questions: ["How many {thing} stay behind?"],
    },
  },
  "*": {
    seen: {
      stories: [
        "{name} has {b} boxes with {a} {thing} each.",
        "Each of {b} children brings {a} {thing}.",
        "{name} buys {a} {thing} every day for {b} days.",
        "There are {b} rows of {a} {thing}.",
        "One pack holds {a} {thing}. {name} takes {b} packs.",
        "A machine makes {a} {thing} an hour and runs for {b} hours.",
        "{name} fills {b} bags, each with {a} {thing}.",
        "Every week {name} gets {a} {thing}. {b} weeks pass.",
        "{b} friends have {a} {thing} each.",
        "On each of {b} shelves stand {a} {thing}.",
        "{name} carries {a} {thing} at a time and walks {b} times.",
        "A page has {a} {thing}, and the album has {b} such pages.",
      ],
      questions: [
        "How many {thing} are there now?",
        "How many {thing} is that in total?",
        "How many {thing} are there altogether?",
        "How many {thing} does that make?",
        "What is the number of {thing}?",
      ],
    },
    unseen: {
      stories: [
        "{b} trucks come, and every truck is loaded with {a} {thing}.",
        "A baker needs {a} {thing} per tray and has {b} trays.",
        "{name} repeats it {b} times: {a} {thing} each time.",
        "In every one of {b} rooms lie {a} {thing}.",
      ],
      questions: ["How many {thing} in all?"],
    },
  },
  "/": {
    seen: {
      stories: [
        "{name} shares {a} {thing} equally among {b} friends.",
        "{a} {thing} are split into {b} equal piles.",
        "{b} children divide {a} {thing} evenly.",
        "{name} packs {a} {thing} into {b} boxes, the same number in each.",
        "{a} {thing} stand in {b} equal rows.",
        "{name} deals {a} {thing} to {b} players, all the same.",
        "In {b} days {name} uses {a} {thing}, every day the same number.",
        "{a} {thing} are the price of {b} toys that cost the same.",
        "A teacher hands out {a} {thing} to {b} pupils in equal parts.",
        "{name} cuts a row of {a} {thing} into {b} equal pieces.",
        "{b} bags hold {a} {thing}, and all bags are alike.",
        "{name} spreads {a} {thing} evenly over {b} tables.",
      ],
      questions: [
        "How many {thing} is that for each?",
        "How many {thing} does each get?",
        "How many {thing} are in one part?",
        "How many {thing} is that for one?",
        "What is the number of {thing} in each?",
      ],
    },
    unseen: {
      stories: [
        "{b} teams receive {a} {thing}, fairly distributed.",
        "A rope with {a} {thing} is parted into {b} same lengths.",
        "{name} wants {b} equal groups out of {a} {thing}.",
        "{a} {thing} go into {b} jars so that no jar has more than another.",
      ],
      questions: ["How many {thing} per share?"],
    },
  },
};
