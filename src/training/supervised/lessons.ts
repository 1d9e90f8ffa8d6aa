import { factsOf } from "../../algorithms/algorithms.ts";
import { ConfigError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import { randomStream } from "../../core/random.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import type { Environment } from "../../environments/environment.ts";
import { firstPrompt } from "../config/first-prompt.ts";
import type { TrainingConfig } from "../config/settings.ts";
import { trainingTasks } from "../config/tasks.ts";
import { type DemonstrationArguments, demonstrationOf, encoded } from "../sampling/demonstration.ts";
import { readConversations } from "./conversations.ts";

/** The arguments that decide the demonstrations of a run. */
export interface LessonArguments extends DemonstrationArguments {
  /** A JSONL file; the environment's expert if undefined. */
  readonly data: string | undefined;
  readonly seed: number;
}

/** Demonstrations from any position on: the same position and seed always give the same ones, so that a run can be resumed. */
export interface LessonSource {
  from(position: number): Lessons;
}

/**
 * Opens the demonstrations of a run. Those of a file are all read and encoded before training starts, and gone through in a new order each
 * time; an expert plays the training tasks.
 * @throws ConfigError for a file that is wrong, a demonstration that is too long, or an environment without an expert
 */
export async function openLessons(args: LessonArguments): Promise<LessonSource> {
  return args.data === undefined ? byExpert(args) : fromFile(args, args.data);
}

/**
 * Checks what can be known of demonstrations before a model is loaded.
 * @throws ConfigError for a file that is wrong, or an environment without an expert
 */
export function checkDemonstrations({ algorithm }: Pick<TrainingConfig, "algorithm">, environment: Environment): void {
  const hasExpert = environment.demonstrate !== undefined || environment.expert !== undefined;
  if (!hasExpert && factsOf(algorithm).readsDemonstrations)
    throw new ConfigError("environment.name", environment.name, {
      expected: "one that demonstrates its tasks: the algorithm's teacher reads how they are solved",
      hint: "Add `demonstrate` to the environment.",
    });
  if (algorithm.kind !== "sft") return;
  if (algorithm.data !== undefined) readConversations(algorithm.data);
  else if (!hasExpert)
    throw new ConfigError("algorithm.data", undefined, {
      expected: "a JSONL file of conversations",
      hint: `The environment "${environment.name}" has no expert: give a file (--data FILE), or add \`demonstrate\` to the environment.`,
    });
}

async function fromFile(args: LessonArguments, path: string): Promise<LessonSource> {
  const { environment, seed } = args;
  const conversations = readConversations(path);
  const prompt = conversations.some(({ tools }) => tools === undefined) ? await firstPrompt(environment) : undefined;
  const lessons = conversations.map(({ messages, tools }, i) =>
    encoded(
      args,
      `${path}, conversation ${i + 1}`,
      messages,
      tools ?? prompt?.tools ?? [],
      tools === undefined ? prompt?.protocol : undefined,
    ),
  );
  const at = (position: number) => {
    const epoch = Math.floor(position / lessons.length);
    const order = randomStream(seed, "lessons", epoch).shuffle(lessons);
    return present(order[position % lessons.length], "a lesson");
  };
  return {
    *from(position) {
      for (let next = position; ; next++) yield at(next);
    },
  };
}

function byExpert(args: LessonArguments): LessonSource {
  return {
    async *from(position) {
      for (let next = position; ; next++) yield demonstrated(args, next, args.seed);
    },
  };
}

async function demonstrated(args: LessonArguments, position: number, seed: number): Promise<readonly ActionInContext[]> {
  const task = present((await trainingTasks(args.environment, position, 1, seed))[0], "a training task");
  // A seed of its own: with one for all, an expert that draws would make the same choice in every demonstration.
  return demonstrationOf(args, task, randomStream(seed, "demonstration", position).integer(2 ** 31 - 1));
}

/** Demonstrations as training samples. */
export type Lessons = Iterator<readonly ActionInContext[]> | AsyncIterator<readonly ActionInContext[]>;
