/**
 * Texts of requests: those of training, and those that no training task has. {product} is of the shop, {customer} orders, {other} is another
 * customer. Of an order's two sentences the second says what happens where too few are left.
 */
export const wordings = {
  "asks the price": {
    seen: [
      "What is the price of {product}?",
      "How much are {product}?",
      "What do {product} cost?",
      "Tell me what {product} cost.",
      "For how much do we sell {product}?",
      "Look up the price of {product}.",
      "{customer} asks what {product} cost.",
      "What do we charge for {product}?",
      "How expensive are {product}?",
      "{customer} wants to know the price of {product}.",
    ],
    unseen: ["What does one pay for {product}?", "Name the cost of {product}.", "At what price do {product} go?"],
  },
  "asks the stock": {
    seen: [
      "How many {product} are left?",
      "How many {product} do we have?",
      "What is our stock of {product}?",
      "Tell me how many {product} are there.",
      "Look up the number of {product}.",
      "{customer} asks how many {product} we have.",
      "How many {product} are on the shelf?",
      "What number of {product} remains?",
      "Are there {product} left, and how many?",
      "{customer} wants to know how many {product} there are.",
    ],
    unseen: [
      "How many {product} can we still sell?",
      "What quantity of {product} is there?",
      "How large is our pile of {product}?",
    ],
  },
  "sets the price": {
    seen: [
      "Let {product} cost {value}.",
      "Set the price of {product} to {value}.",
      "From today {product} cost {value}.",
      "We sell {product} for {value} from now on.",
      "The new price of {product} is {value}.",
      "Charge {value} for {product}.",
      "{customer} makes {value} the price of {product}.",
      "Change what {product} cost to {value}.",
      "Make the price {value} for {product}.",
      "We now ask {value} for {product}.",
    ],
    unseen: [
      "People pay {value} for {product} from tomorrow.",
      "The cost of {product} becomes {value}.",
      "Sell {product} at {value}.",
    ],
  },
  "sets the stock": {
    seen: [
      "We counted {value} {product}.",
      "There are {value} {product} on the shelf now.",
      "Set the stock of {product} to {value}.",
      "The shelf has {value} {product} now.",
      "A count of the {product} gives {value}.",
      "Correct the number of {product} to {value}.",
      "{customer} counted the {product}: {value}.",
      "We have {value} {product} now.",
      "After the delivery there are {value} {product}.",
      "Only {value} {product} are left, so write that.",
    ],
    unseen: [
      "The inventory finds {value} {product}.",
      "Our pile of {product} is {value} high.",
      "{value} {product} lie in the store.",
    ],
  },
  orders: {
    seen: [
      "{customer} buys {count} {product}. {other} only looks.",
      "{other} asks for {count} {product} on behalf of {customer}.",
      "{customer} takes {count} {product}, as {other} once did.",
      "{other} picks up the {count} {product} that {customer} orders.",
      "Write down {count} {product} for {customer}, not for {other}.",
      "Not {other} but {customer} wants {count} {product}.",
      "{customer} orders {count} {product} as a present to {other}.",
      "{other} says that {customer} orders {count} {product}.",
      "An order by {customer}, whom {other} sent: {count} {product}.",
      "While {other} waits, {customer} buys {count} {product}.",
    ],
    unseen: [
      "{customer} came with {other} and takes {count} {product}.",
      "{other} pays nothing. {customer} purchases {count} {product}.",
      "On the way to {other}, {customer} buys {count} {product}.",
    ],
  },
  rest: {
    seen: ["Fewer are fine too.", "As many as there are will do.", "If too few are left, take those.", "Less is also good."],
    unseen: ["What there is will be enough.", "A part of it helps too."],
  },
  all: {
    seen: ["All or nothing.", "Fewer are of no use.", "If too few are left, take none.", "Less will not do."],
    unseen: ["Without all of them there is no order.", "A part of it does not help."],
  },
} as const satisfies Readonly<Record<string, { readonly seen: readonly string[]; readonly unseen: readonly string[] }>>;
