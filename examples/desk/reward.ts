interface End {
  task: { order: string; deed: string };
  answer: { text: string; looked: string[]; done: string[] };
}

/** 1 if this order was looked up, exactly the right thing was done, and the customer hears of it. */
export default ({ task, answer }: End) =>
  Number(answer.looked.includes(task.order) && answer.done.join() === task.deed && answer.text.trim() !== "");
