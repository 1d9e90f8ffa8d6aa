/** The limit of an action's tokens where there is none: the model's context alone ends it. No model's context is longer. */
export const wholeContext = 10_000_000;
