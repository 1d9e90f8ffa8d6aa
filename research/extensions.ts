import type { Extension } from "../src/extension.ts";

/** Environments of research alone: `npm run research -- train --env NAME`. */
export const researchExtensions: readonly Extension[] = [];
