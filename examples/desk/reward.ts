interface End {
  task: { order: string; deed: string };
  answer: { text: string; looked: string[]; done: string[] };
}

/** 1 if this order was looked up, exactly the right thing was done, and the customer reads words about it; where nothing is done, to wait. */
export default ({ task: { order, deed }, answer: { looked, done, text } }: End) =>
  Number(looked.includes(order) && done.join() === deed && (deed === "" ? /\bwait\b/i : /^[^<>]*\w[^<>]*$/).test(text));
