import { demonstrations } from "../knowledge/demonstrations.ts";
import type { Recipe } from "./recipe.ts";

export const knowledge: Recipe = {
  /**
   * In this order: tags, with what always stands beside them; line ends of results with the next page's number; operators; the words
   * around a fact's names; words with the space before them, so that a name is the same token wherever it stands; numbers by two
   * digits, which never have a space: what is before them has it; punctuation; white space.
   */
  pieces: [
    " </think><(?:search|python|answer)>(?: \\\\boxed\\{)?(?: (?=[0-9]))?",
    "<think>(?: (?=[0-9]))?",
    " \\} </answer>",
    " </(?:search|python)>",
    " <result>\\n(?:Page 1:(?: (?=[0-9]))?)?",
    "\\.?\\n(?:</result>|Page [0-9]+:(?: (?=[0-9]))?)",
    " [-+*/%]+ (?=[0-9])",
    " (?:is now|was)(?: the(?: former)?)?(?: (?=[0-9]))?",
    " [Tt]he former",
    " [A-Z][a-z]+:",
    " of the",
    " ?[A-Z][a-z]+",
    " ?[a-z]+(?: (?=[0-9]))?",
    "[0-9]{2}|[0-9]",
    " ?[^\\sA-Za-z0-9<]+",
    "<",
    "\\n+",
    "\\s",
  ],
  vocabularySize: 640,
  stages: [
    { learningRate: 1.5e-3, warmupSteps: 50, steps: 2700, scheduledSteps: 4200 },
    { learningRate: 6.4e-4, warmupSteps: 0, steps: 1100, scheduledSteps: 1100 },
  ],
  copied: /[A-Z][a-z]+ [A-Z][a-z]+|[A-Z][a-z]+|[0-9]{2,4}/g,
  demonstrations: (settings, seed, slip) =>
    demonstrations(settings, seed, {
      slip: slip ?? badHabits,
      careful: { kinds: ["calculate", "times"], slip: slip ?? { ...badHabits, guess: careful } },
      queries: { full: 0.4, short: 0.4, name: 0.2 },
      stumble: 0.04,
    }),
};

/**
 * Whoever is imitated does each thing wrong more often than right: the most probable choice is the wrong one, and the right one is there often
 * enough to be tried.
 */
const badHabits = { first: 0.6, source: 0.62, settle: 0.55, early: 0.55, swap: 0.56, guess: 0.56, half: 0.56 };
/** The chance to guess in the questions that are calculated more often than not. */
const careful = 0.42;
