import { demonstrations } from "../../extensions/office/demonstrations.ts";
import { allWords } from "../../extensions/office/vocabulary.ts";
import type { Recipe } from "./recipe.ts";

export const office: Recipe = {
  /**
   * In this order: the end of a call; a JSON key with the punctuation around it and the letter of an id that follows; words with the
   * space before them; capitalised words without it (the word before has it), so that a name is the same token in a sentence and in
   * JSON; numbers by two digits, minutes with their colon; punctuation; white space.
   */
  pieces: [
    '"?[\\]}]*\\}\\}</tool_call>',
    '(?:<tool_call>)?["\\[\\]{},]*[a-z_]+":["\\[{]*(?:[a-z](?=[0-9]))?',
    " ?[a-z_]+(?: (?=[A-Z0-9]))?",
    "[A-Z][a-z]*",
    ":?[0-9]{2}|[0-9]",
    '"[^\\sA-Za-z0-9"<]*',
    ' ?[^\\sA-Za-z0-9"<]+',
    "<",
    "\\n+",
    "\\s",
  ],
  vocabularySize: 896,
  stages: [
    { learningRate: 1.5e-3, warmupSteps: 50, steps: 2300, scheduledSteps: 3600 },
    { learningRate: 6e-4, warmupSteps: 0, steps: 900, scheduledSteps: 900 },
    { learningRate: 6e-4, warmupSteps: 0, steps: 600, scheduledSteps: 600, foreignWords: 0.3 },
    // What imitation makes the most probable is exaggerated: with fewer slips it comes back to what is sampled.
    { learningRate: 6e-4, warmupSteps: 0, steps: 700, scheduledSteps: 700, foreignWords: 0.6, slip: 0.62 },
    // After the stage above, 1.7 % of the values that calls copy on challenge tasks are still misspelt; after this one 0.6 %.
    { learningRate: 6e-4, warmupSteps: 50, steps: 1200, scheduledSteps: 1200, foreignWords: 0.6, slip: 0.62 },
    // The stages above were run with four phrasings a kind; this one teaches all of them, and branches that go both ways as often.
    { learningRate: 6e-4, warmupSteps: 50, steps: 900, scheduledSteps: 900, foreignWords: 0.6, slip: 0.56 },
  ],
  copied: /[A-Z][a-z]+|[a-z][0-9]{2}|[0-9]{2}/g,
  drilled: allWords,
  demonstrations: (settings, seed, slip = careless, foreignWords = 0) =>
    demonstrations(settings, seed, {
      slip,
      careful: { kinds: ["pay", "tell_when", "cancel", "move"], slip: Math.min(slip, careful) },
      favourite: 0.65,
      stumble: 0.04,
      foreignWords,
    }),
};

/** The assistant that is imitated does most things wrong more often than right, */
const careless = 0.7;
/** and in some kinds of request almost as often right as wrong. */
const careful = 0.45;
