interface End {
  task: { deed: string };
  answer: { text: string; done: string[] };
}

/** 1 if exactly this was done, and the user hears of it. */
export default ({ task, answer }: End) => Number(answer.done.join() === task.deed && answer.text !== "");
