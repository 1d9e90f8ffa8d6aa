import type { Random } from "../../src/core/random.ts";
import type { ExpertState, PersonAction } from "./expert.ts";
import type { Phrasings } from "./grammar.ts";
import type { Plan } from "./plan.ts";
import type { Words } from "./vocabulary.ts";
import type { World } from "./world.ts";

/** The things that a request leaves to be talked about, for follow-ups such as "the same for Bob". */
export interface Topic {
  /** The action that was done to a person. */
  readonly action?: PersonAction;
  /** Full name of that person. */
  readonly person?: string;
  /** Title of an event that may still move. */
  readonly event?: string;
}

/** Where a request is drawn: the state of the apps once all earlier requests are fulfilled. */
export interface Scene {
  readonly world: World;
  readonly random: Random;
  /** Whose names, titles and greetings are used. */
  readonly words: Words;
  /** The topic of the request before; empty at the start and after a request that was refused. */
  readonly topic: Topic;
}

/** A request in all its details. */
export interface Draft {
  /** For the gaps of the phrasings. */
  readonly words: Readonly<Record<string, string | number>>;
  /** The full name of the person meant, where a first name fits several: the user's answer to "Which Ana?". */
  readonly meant?: string;
  readonly topic?: Topic;
  solve(state: ExpertState): Plan;
}

export interface Kind {
  /** How a user says it. `{gap}` is filled from the draft's words. */
  readonly phrasings: Phrasings;
  /** How often it occurs, beside the others. */
  readonly weight: number;
  /** The tool that does what is asked for; it may be busy or closed. */
  readonly tool?: string;
  /** The thing that its requests leave to talk about. */
  readonly leaves?: keyof Topic;
  /** A follow-up: what the request before must have left. */
  readonly needs?: keyof Topic;
  /** Draws a request that fits the scene; undefined where none does. */
  draw(scene: Scene): Draft | undefined;
}
