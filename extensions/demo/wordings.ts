interface Wordings {
  /** {a} and {b} are the numbers in the operation's order; {name}, {other} and {thing} are drawn. */
  readonly stories: readonly string[];
  readonly questions: readonly string[];
}

const totals = [
  "How many {thing} are there now?",
  "How many {thing} is that in total?",
  "How many {thing} are there altogether?",
  "How many {thing} does that make?",
  "What is the number of {thing}?",
];

/**
 * Texts of word problems: 24 stories × 5 questions an operation in training, and 4 × 1 that no training task has. No story of one half has a
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
        "{name} draws {a} {thing} and then {b} further ones.",
        "{other} lends {name} {b} {thing}. {name} already has {a}.",
        "A wagon carries {a} {thing}, and a second wagon carries {b}.",
        "{name} makes {a} {thing} in the morning and {b} in the evening.",
        "{a} {thing} came by train and {b} by ship.",
        "{name} counts {a} {thing} on the left and {b} on the right.",
        "The museum shows {a} {thing}. Next week {b} are added.",
        "{name} and {other} join their {thing}: {a} from {name}, {b} from {other}.",
        "First {a} {thing} fall from the sack, then {b} more.",
        "{name} earned {a} {thing} last year and {b} {thing} this year.",
        "{name} keeps {a} {thing} upstairs and {b} downstairs.",
        "Besides the {a} old {thing} there are {b} new ones.",
      ],
      questions: totals,
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
        "{b} of {a} {thing} get lost.",
        "{name} picks {a} {thing} and loses {b} on the way home.",
        "{name} has {a} {thing}. {other} takes {b} away.",
        "A basket had {a} {thing} until {name} removed {b}.",
        "{name} used {b} {thing} and started with {a}.",
        "{name} has {a} {thing} and eats up {b}.",
        "A bird takes {b} of the {a} {thing} in the nest.",
        "{a} {thing} are in the shop. Customers buy {b}.",
        "{name} gets {a} {thing} and hands {b} on to {other}.",
        "{name} drops {a} {thing}, and {b} roll away.",
        "{other} borrows {b} of the {a} {thing} that {name} has.",
        "The wind blows {b} {thing} off a table with {a}.",
        "{b} of the {a} {thing} in the chest are stolen.",
        "{name} spends {b} of {a} {thing}.",
        "{name} mails {b} of the {a} {thing} to {other}.",
        "After lunch {b} of the {a} {thing} are gone.",
        "{name} unpacks {a} {thing} and puts {b} back.",
      ],
      questions: [
        "How many {thing} remain?",
        "How many {thing} are left?",
        "How many {thing} are still there?",
        "How many {thing} does that leave?",
        "What number of {thing} is left over?",
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
        "{name} plants {a} {thing} in each of {b} beds.",
        "{b} buses arrive with {a} {thing} in every bus.",
        "{name} sews {a} {thing} on each of {b} coats.",
        "A recipe takes {a} {thing}, and {name} cooks it {b} times.",
        "{b} tables have {a} {thing} on each.",
        "Each of the {b} players gets {a} {thing}.",
        "{name} wins {a} {thing} in every game and plays {b} games.",
        "A wall has {b} layers with {a} {thing} in each layer.",
        "For each of {b} guests {name} wraps {a} {thing}.",
        "{b} carts bring {a} {thing} apiece.",
        "{name} saves {a} {thing} a month for {b} months.",
        "A hall has {b} sections, and each section holds {a} {thing}.",
      ],
      questions: totals,
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
        "{name} puts {a} {thing} into {b} bags, equally filled.",
        "{b} winners share a prize of {a} {thing} equally.",
        "{a} {thing} are laid on {b} trays, the same number on every tray.",
        "{name} needs {b} weeks for {a} {thing} and takes the same number every week.",
        "{a} {thing} are dealt out to {b} tables in equal numbers.",
        "{name} sorts {a} {thing} into {b} groups of one size.",
        "{b} workers carry {a} {thing}, and each carries as many as the next.",
        "{name} pours {a} {thing} into {b} cups until all cups hold the same.",
        "A chain of {a} {thing} is cut into {b} chains of one length.",
        "{b} cats eat {a} {thing}, and each cat eats the same number.",
        "{a} {thing} fill {b} pages, and each page has the same number.",
        "{name} gives {a} {thing} to {b} cousins, and all get the same.",
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

export const operations = ["+", "-", "*", "/"] as const;

export type Operation = (typeof operations)[number];
