import type { Topic } from "./kind.ts";

/** The user's words that ask for a note at the end of a shift. */
export const askForNote = "Your note for the next shift?";

/** The most words, numbers and signs of a note: what is beyond them is cut off. */
const noteLength = 15;

/** The note of somebody careless. */
export const emptyNote = "All done.";

/** The closing words of somebody who cannot know what is meant. */
export const lost = "Sorry, I do not know what is meant.";

/** Returns the note of the expert: what a later request may build on. */
export function noteOf({ action, event }: Topic): string {
  if (action !== undefined) return `Last: ${action.note}.`;
  return event === undefined ? emptyNote : `Last: event ${event}.`;
}

export function cutNote(text: string): string {
  const end = [...text.matchAll(/[A-Za-z]+|\d+|[^\sA-Za-z0-9]/g)][noteLength]?.index ?? text.length;
  return text.slice(0, end).trim();
}

/** True if a note says what the expert's says. */
export function saysEnough(note: string, expected: string): boolean {
  const words = (text: string) => text.toLowerCase().match(/[a-z]+|\d+/g) ?? [];
  const said = new Set(words(note));
  return words(expected.replace(/^Last: (event )?/, "")).every((word) => said.has(word));
}
