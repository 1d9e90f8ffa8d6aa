import type { Message } from "../../src/core/messages.ts";

/** What is particular about the default model of one world. */
export interface Recipe {
  /** See `TokenizerOptions`. */
  readonly pieces: readonly string[];
  readonly vocabularySize: number;
  /**
   * In each, the learning rate falls along a line that would reach 0 at the last scheduled step: slowly at first; when copying has
   * formed, steeply.
   */
  readonly stages: readonly {
    readonly learningRate: number;
    readonly warmupSteps: number;
    readonly steps: number;
    readonly scheduledSteps: number;
    /** From this stage on, the share of lessons with words of the challenge split; see `DemonstrationOptions.foreignWords` of the office. */
    readonly foreignWords?: number;
    /** From this stage on, how often the expert falls into a bad habit, where it is not the recipe's own share. */
    readonly slip?: number;
  }[];
  /** What the model has to copy later, in texts. */
  readonly copied: RegExp;
  /** Words that are copied in exercises to the end, those of held-out lists among them, which no demonstration has. */
  readonly drilled: readonly string[];
  /**
   * Demonstrations without end by an expert with bad habits.
   * @param slip how often it falls into one where there is room for it; the recipe's own habits if left out
   * @param foreignWords of the stage
   */
  demonstrations(settings: unknown, seed: number, slip?: number, foreignWords?: number): Iterator<Demonstrated, never>;
}

export interface Demonstrated {
  readonly messages: readonly Message[];
  /** Assistant turns, from 0, that are shown and not imitated. */
  readonly stumbles: readonly number[];
}
