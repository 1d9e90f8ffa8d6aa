import type { Diagnosis } from "../environments/environment.ts";

/** Looks at one thing that an extension needs of this machine. */
export type Diagnose = () => Diagnosis;

const brought = new Set<Diagnose>();

/** Adds what an extension looks at. */
export function addDiagnosis(diagnose: Diagnose): void {
  brought.add(diagnose);
}

/** Returns what the extensions find on this machine. */
export function broughtDiagnoses(): Diagnosis[] {
  return [...brought].map((diagnose) => diagnose());
}
