import { demonstrations } from "../studies/office-classic/demonstrations.ts";
import type { Recipe } from "./recipe.ts";

export const officeClassic: Recipe = {
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
  vocabularySize: 768,
  stages: [
    { learningRate: 1.5e-3, warmupSteps: 50, steps: 2000, scheduledSteps: 3500 },
    { learningRate: 6.4e-4, warmupSteps: 0, steps: 600, scheduledSteps: 600 },
  ],
  copied: /[A-Z][a-z]+|[a-z][0-9]{2}|[0-9]{2}/g,
  demonstrations: (settings, seed, slip = 0.35) => demonstrations(settings, seed, { slip }),
};
