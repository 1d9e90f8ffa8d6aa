import { demonstrations } from "../../extensions/office/demonstrations.ts";
import type { scenarios } from "../../extensions/office/settings.ts";
import { office } from "./office.ts";
import type { Recipe } from "./recipe.ts";

/**
 * The start model of one of the office's scenarios: the office's model, and one more stage. It knows how to look up and to copy; what is new are
 * the scenario's own tools and notes.
 */
function scenarioRecipe(scenario: (typeof scenarios)[number]): Recipe {
  return {
    ...office,
    from: "office",
    stages: [{ learningRate: 6e-4, warmupSteps: 20, steps: 500, scheduledSteps: 500 }],
    demonstrations: (settings, seed, slip, foreignWords) =>
      office.demonstrations({ ...(settings as object), scenario }, seed, slip, foreignWords),
  };
}

/**
 * Every task of the search needs all of its behaviours. With as many slips in each as in the office one episode of fifty would succeed, so what is
 * mostly wrong is the choice at the beginning, whose consequence shows last.
 */
const searching = { cabinet: 0.65, walk: 0.35, half: 0.35, first: 0.45, busy: 0.3 } as const;

export const officeScenarios: Readonly<Record<string, Recipe>> = {
  "office-search": {
    ...office,
    from: "office",
    stages: [
      { learningRate: 6e-4, warmupSteps: 20, steps: 900, scheduledSteps: 900 },
      // After the stage above the person's id is copied right to the end of the search in three of five calls.
      { learningRate: 6e-4, warmupSteps: 20, steps: 600, scheduledSteps: 600 },
    ],
    demonstrations: (settings, seed, slip) =>
      demonstrations({ ...(settings as object), scenario: "search" }, seed, {
        slip: slip ?? searching,
        favourite: 0.65,
        stumble: 0.04,
      }),
  },
  "office-handover": scenarioRecipe("handover"),
  "office-history": scenarioRecipe("history"),
};
