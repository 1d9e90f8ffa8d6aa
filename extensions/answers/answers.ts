import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import { randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import { type DefinedTask, defineEnvironment } from "../../src/environments/define.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { splitTasks } from "../agents/tasks.ts";
import { formGuesses } from "./players.ts";
import { type AnswerTask, isRight, readAnswerTasks } from "./tasks.ts";

export const answersSettingsSchema = z.strictObject({
  /** A file of JSON lines: `{"prompt", "answer"}`, the answer a text, a number or a list of those that are right. */
  data: acts.reads(z.string().min(1)),
  /** The system message. Default: none. */
  system: z.string().optional(),
  /** How answers are compared: as texts, without case and white space, or the last number of each. */
  compare: z.enum(["text", "number"]).default("text"),
  /** The content of demonstrations: right answers, or guesses, which teach the form of an answer alone. */
  demonstrate: z.enum(["answers", "form"]).default("answers"),
});

/**
 * The environment `answers`: questions of a file, a fifth of which is the split `test`. One message answers; reward 1 if it is right.
 * @throws ConfigError for settings of another form, and naming the first line of the file that is
 */
export function answersEnvironment(userSettings: unknown): Environment<DefinedTask<AnswerTask>> {
  const settings = parseSettings(answersSettingsSchema, userSettings ?? {}, "environment.settings");
  const { data, system, compare, demonstrate } = settings;
  const tasks = readAnswerTasks(data, compare);
  const guessed = demonstrate === "form" ? formGuesses(tasks) : [];
  const guessesAt = new Map(guessed.map((guesses, i) => [tasks[i], guesses]));
  return defineEnvironment<AnswerTask>({
    ...{ name: "answers", system, tasks: { ...splitTasks(tasks) } },
    start: (task) => ({ tools: [], reward: ({ answer }) => Number(isRight(answer, task, compare)) }),
    demonstrate: (task) => [
      { role: "assistant", content: randomStream(0, "shown", task.prompt).pick(guessesAt.get(task) ?? task.answers) },
    ],
  });
}
