/** Rules that find one thing, by how long it has lasted and between which episodes: that rewards do not differ where they would teach. */
const withoutSignal: readonly string[] = ["start-at-zero", "equal-rewards", "constant-reward", "no-signal"];

/** The cause of a warning: that of several rules where they find one thing, else the rule itself. */
export function causeOf(rule: string): string {
  return withoutSignal.includes(rule) ? "no-signal" : rule;
}
