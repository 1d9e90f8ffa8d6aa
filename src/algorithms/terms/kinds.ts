import type { z } from "zod";
import { choiceOf, kindIn } from "../../core/kinds.ts";
import { echoKind } from "./echo.ts";
import type { TermKind } from "./term.ts";

/** The terms. A new one is a file and a line here. */
export const termKinds = [echoKind] as const;

/** Any term, named by its kind. */
export const anyTerm = choiceOf(termKinds);
export type TermConfig = z.output<typeof anyTerm>;

/** Returns the term that settings name. Its functions take those settings. */
export function termKindOf(config: TermConfig): TermKind {
  return kindIn<TermKind>(termKinds, config);
}
